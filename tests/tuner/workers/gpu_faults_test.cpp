// Kernels that are wrong in every way that we know, among good ones: each fault costs its own candidate and is called
// by its name, the good ones win, and nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/store.h"
#include "runtime/gpu/driver.h"
#include "test_paths.h"
#include "tests/runtime/support.h"
#include "tests/templates/family/settings.h"
#include "tests/tuner/cli_fixture.h"
#include "tests/tuner/faults/faults.h"
#include "tests/tuner/gpu_memory.h"

namespace mmtune {
namespace {

using test::kKernelFaults;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// `mmtune` with the family `faulty`, on models: what can be seen without a GPU.
class Faulty : public Cli {
 protected:
  void SetUp() override {
    adopt_orphans();
    if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  }

  Result tune(const std::string& device, const std::string& arguments, const std::string& sizes = "192") const {
    return shell(fmt::format("timeout 500 '{}' tune --device {} --sizes {} --strategy exhaustive --db '{}' {}",
                             MMTUNE_FAULTY_BINARY, device, sizes, database(), arguments));
  }

  std::string database() const { return path("faults.db"); }

  /// Outcomes by the value of FAULT; those of all other kernels must be good.
  std::map<int, Trial> faulty_trials() const {
    std::map<int, Trial> found;
    for (const Trial& trial : Store::open(database(), OpenMode::read_only).trials()) {
      if (trial.key.family == "faulty") {
        found[fault_of(trial)] = trial;
      } else {
        EXPECT_THAT(trial.outcome, AnyOf(Outcome::ok, Outcome::too_slow)) << trial.key.config << ": " << trial.note;
      }
    }
    return found;
  }

  static int fault_of(const Trial& trial) { return *Config::parse(trial.key.config).find("FAULT"); }

  static int number_of(std::string_view name) {
    const auto found = std::find_if(kKernelFaults.begin(), kKernelFaults.end(),
                                    [&](const test::KernelFault& fault) { return fault.name == name; });
    return static_cast<int>(found - kKernelFaults.begin());
  }
};

TEST_F(Faulty, IsNoFamilyOfTheProgram) {
  const Result result = mmtune("space faulty --sizes 64 --device model:h200");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("'faulty' is unknown"));
}

TEST_F(Faulty, SourcesThatDoNotCompileCostOneCandidateEach) {
  const int refused = number_of("REFUSED"), endless = number_of("ENDLESS");
  const Result result =
      tune("model:h200", fmt::format("--family faulty,tiled --only 'FAULT=0,{},{} TILE=16 {}' "
                                     "--compile-limit 5s",
                                     refused, endless, test::others_at_default("tiled", {"TILE", "UNROLL"})));
  EXPECT_EQ(result.code, 0) << result.err;
  const auto trials = faulty_trials();
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_EQ(trials.at(0).outcome, Outcome::ok);
  EXPECT_EQ(trials.at(refused).outcome, Outcome::compile_failed);
  EXPECT_THAT(trials.at(refused).note, HasSubstr("refused on purpose"));
  EXPECT_EQ(trials.at(endless).outcome, Outcome::timed_out) << trials.at(endless).note;
  expect_no_process_left();
}

class GpuFaults : public Faulty, public ::testing::WithParamInterface<std::size_t> {
 protected:
  void SetUp() override {
    if (const auto why = test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    memory_.emplace();
    Faulty::SetUp();
  }

  Result tune_on_gpu(const std::string& search, const std::string& sizes = "192") const {
    return tune("0", search + " --launch-limit 3s --compile-limit 20s", sizes);
  }

  static void expect_outcome(const Trial& trial, const test::KernelFault& fault) {
    const std::string what =
        fmt::format("a kernel that {} was {}: {}", fault.describe, to_string(trial.outcome), trial.note);
    // What is slower than others at its first sample is not looked at again: that may happen to the others.
    if (!fault.expected) {
      EXPECT_THAT(trial.outcome, AnyOf(Outcome::ok, Outcome::too_slow, Outcome::wrong_result, Outcome::unstable))
          << what;
    } else if (fault.expected == Outcome::ok) {
      EXPECT_THAT(trial.outcome, AnyOf(Outcome::ok, Outcome::too_slow)) << what;
    } else {
      EXPECT_EQ(trial.outcome, *fault.expected) << what;
      EXPECT_NE(trial.note, "") << what;
    }
  }

  /// The decision is for a kernel without a fault.
  void expect_good_winner() const {
    const auto winners = Store::open(database(), OpenMode::read_only).winners();
    ASSERT_EQ(winners.size(), 1U);
    EXPECT_TRUE(winners[0].trial.key.family == "tiled" || winners[0].trial.key.config == "FAULT=0");
  }

  void expect_nothing_left() const {
    expect_no_process_left();
    memory_->expect_given_back();
  }

  std::optional<test::GpuMemory> memory_;
};

TEST_P(GpuFaults, CostsItsCandidateAndTheGoodOneWins) {
  const Result result = tune_on_gpu(fmt::format("--family faulty --only FAULT=0,{}", GetParam()));
  EXPECT_EQ(result.code, 0) << result.err;
  const auto trials = faulty_trials();
  ASSERT_EQ(trials.size(), 2U) << result.err;
  expect_outcome(trials.at(0), kKernelFaults[0]);
  expect_outcome(trials.at(static_cast<int>(GetParam())), kKernelFaults[GetParam()]);
  expect_good_winner();
  expect_nothing_left();
}

std::string name_of(const ::testing::TestParamInfo<std::size_t>& info) {
  return std::string(kKernelFaults[info.param].name);
}

INSTANTIATE_TEST_SUITE_P(Gpu, GpuFaults, ::testing::Range(std::size_t{1}, kKernelFaults.size()), name_of);

using GpuAllFaults = GpuFaults;

// The more products there are, the less one of them counts.
TEST_F(GpuAllFaults, TheLastOfManyProductsIsMissed) {
  const Result result = tune_on_gpu(
      fmt::format("--family faulty --only FAULT=0,{} --precision fp32,fp16", number_of("SHORT")), "64x64x8192");
  EXPECT_EQ(result.code, 0) << result.err;
  const std::vector<Trial> trials = Store::open(database(), OpenMode::read_only).trials();
  EXPECT_EQ(trials.size(), 4U);
  for (const Trial& trial : trials) expect_outcome(trial, kKernelFaults[static_cast<std::size_t>(fault_of(trial))]);
  expect_nothing_left();
}

// Two sets of so large operands exceed any L2 cache: it is launched 15 times at most before it is raced.
TEST_F(GpuAllFaults, AKernelThatIsRightUntilItRacesDoesNotWin) {
  const int ceases = number_of("CEASES");
  const Result result = tune_on_gpu(fmt::format("--family faulty --only FAULT=0,{} --jobs 1", ceases), "4096x4096x256");
  EXPECT_EQ(result.code, 0) << result.err;
  const auto trials = faulty_trials();
  ASSERT_EQ(trials.size(), 2U) << result.err;
  EXPECT_EQ(trials.at(0).outcome, Outcome::ok) << trials.at(0).note;
  EXPECT_EQ(trials.at(ceases).outcome, Outcome::unstable);
  EXPECT_THAT(trials.at(ceases).note, HasSubstr("after the race: launch "));
  expect_good_winner();
  expect_nothing_left();
}

TEST_F(GpuAllFaults, TogetherCostNoMoreThanThemselves) {
  const Result result = tune_on_gpu("--family faulty,tiled --only TILE=16");
  EXPECT_EQ(result.code, 0) << result.err;
  const auto trials = faulty_trials();
  ASSERT_EQ(trials.size(), kKernelFaults.size()) << result.err;
  for (const auto& [number, trial] : trials) expect_outcome(trial, kKernelFaults[static_cast<std::size_t>(number)]);
  expect_good_winner();
  expect_nothing_left();

  const Result again = tune_on_gpu("--family faulty,tiled --only TILE=16");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("1 measured, 0 known before")) << "a candidate that killed once is tried once more";
  const Result third = tune_on_gpu("--family faulty,tiled --only TILE=16");
  EXPECT_EQ(third.code, 0) << third.err;
  EXPECT_THAT(third.err, HasSubstr("0 measured, 1 known before"));
}

}  // namespace
}  // namespace mmtune
