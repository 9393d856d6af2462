#include "tuner/compare/repeatability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"
#include "tests/tuner/faults_fixture.h"
#include "tuner/workers/gpu_lock.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Placing placing(Standing standing, double ratio) { return {standing, {ratio, ratio, ratio}}; }

const Placing kLeader = placing(Standing::leader, 1), kTied = placing(Standing::tied, 1.002);

TEST(Repeats, AllTheSame) {
  const Repeats repeats = count_repeats({0, 0, 0}, {kLeader});
  EXPECT_EQ(repeats.runs, 3);
  EXPECT_EQ(repeats.same, 3);
  EXPECT_EQ(repeats.ties + repeats.flips, 0);
  EXPECT_EQ(repeats.worst_loss, 0);
}

TEST(Repeats, TheReferenceIsTheMostFrequentOfTheFastest) {
  // It is chance which of two equal winners the last race sees ahead.
  const Repeats repeats = count_repeats({0, 1, 1, 1}, {kLeader, kTied});
  EXPECT_EQ(repeats.same, 3);
  EXPECT_EQ(repeats.ties, 1);
  EXPECT_EQ(repeats.flips, 0);
}

TEST(Repeats, SlowerWinnersAreFlipsHoweverMany) {
  const Repeats repeats = count_repeats(
      {1, 1, 0, 2, 3},
      {kLeader, placing(Standing::slower, 1.006), placing(Standing::slower, 1.03), placing(Standing::undecided, 1.02)});
  EXPECT_EQ(repeats.same, 1);
  EXPECT_EQ(repeats.ties, 0);
  EXPECT_EQ(repeats.flips, 4);
  EXPECT_NEAR(repeats.worst_loss, 0.03, 1e-9);
}

TEST(Repeats, TableHasThePersistentColumns) {
  RepeatedProblem one;
  one.problem = packed_problem(Precision::fp32, Layout::nn, 256, 512, 1024);
  one.repeats = {5, 3, 1, 1, 0.0042};
  EXPECT_EQ(repeats_table({one}, Format::csv).text(Format::csv),
            "m,n,k,runs,same,ties,flips,worst_loss\n256,512,1024,5,3,1,1,0.00420\n");
  EXPECT_THAT(repeats_table({one}, Format::table).text(Format::table), HasSubstr("0.42"));
}

class Repeatability : public Cli {};

TEST_F(Repeatability, AModelRepeatsItself) {
  if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  const auto result = mmtune(
      "repeatability --device model:h200 --sizes 64,96 --family tiled --effort quick --strategy random --runs 2 "
      "--format csv");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("m,n,k,runs,same,ties,flips,worst_loss\n64,64,64,2,"));
  EXPECT_THAT(result.out, HasSubstr(",0,0.00000\n96,96,96,2,"));
  EXPECT_FALSE(std::filesystem::exists(path("default.db"))) << "nothing is stored";
}

TEST_F(Repeatability, RefusesWhatItCannotTellApart) {
  const auto result = mmtune("repeatability --device model:h200 --sizes 64 --precision fp32,fp16");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("one precision"));
  EXPECT_EQ(mmtune("repeatability --device model:h200 --sizes 64 --runs 1").code, 2);
}

TEST_F(Repeatability, EndsWhereItIsInterruptedWhileTheLastRaceWaitsForTheGpu) {
  DeviceChoice gpu{{}, 0};
  gpu.spec.uuid = fmt::format("GPU-test-{}-repeat", getpid());
  // The shell is the next to have the lock once the last run, the third that opens a lane, gives it back.
  const auto result =
      shell(fmt::format(R"(
      MMTUNE_TEST_FAULTS='uuid@{0};open_log@{4}' '{1}' repeatability --device 0 --sizes 64 --family tiled_coarsened \
        --strategy random --effort quick --runs 3 --vary-seed 2>'{3}' & run=$!
      while kill -0 $run && [ $(cat '{4}' 2>/dev/null | wc -l) -lt 3 ]; do sleep 0.01; done
      exec 9<'{2}'; flock 9
      while kill -0 $run && ! grep -q 'waiting for it' '{3}'; do sleep 0.05; done
      kill -TERM $run; wait $run; code=$?; cat '{3}' >&2; exit $code)",
                        gpu.spec.uuid, MMTUNE_PRETENDING_BINARY, GpuLock::path(gpu), path("log"), path("opened")));
  std::filesystem::remove(GpuLock::path(gpu));
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(result.err, HasSubstr("same winner or tie in 0 of 0 sizes"));
}

/// Runs on a pretended GPU that try other candidates each, and so have other winners.
class LastRace : public test::FaultsTest {
 protected:
  /// What comes of several runs: with seeds that differ `random` ends in winners that do.
  std::vector<RepeatedProblem> repeat(const std::string& faults, bool vary_seed = true) const {
    const test::ScopedEnv scope("MMTUNE_TEST_FAULTS", faults.c_str());
    RepeatOptions repeat{.session = options(), .runs = 3, .vary_seed = vary_seed};
    repeat.session.families = {"tiled_coarsened"};
    repeat.session.strategy = "random";
    repeat.session.effort = "quick";
    repeat.session.problems.push_back(packed_problem(Precision::fp32, Layout::nn, 96, 64, 64));
    return measure_repeatability(repeat);
  }
};

TEST_F(LastRace, ComparesTheWinnersOfTheRuns) {
  const auto problems = repeat("");
  ASSERT_EQ(problems.size(), 2U);
  for (const auto& [problem, repeats] : problems) {
    EXPECT_EQ(repeats.runs, 3);
    EXPECT_LT(repeats.same, 3) << "nothing to race";
  }
}

TEST_F(LastRace, ASearchWithTheSameSeedIsTheSame) {
  const auto problems = repeat("", false);
  ASSERT_EQ(problems.size(), 2U);
  for (const auto& [problem, repeats] : problems) EXPECT_EQ(repeats.same, 3);
}

TEST_F(LastRace, AWinnerThatIsWrongThereSaysNothingOfItsTime) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(repeat("race_again_incorrect@*;race_log@" + path("races")).empty());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("left out: the winners of its runs cannot be raced: tiled_coarsened "));
  EXPECT_THAT(log, HasSubstr("is unstable: a test"));
}

TEST_F(LastRace, WhereItIsLostTheProblemIsLeftOutAndTheOthersGoOn) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(repeat("race_abort@*").empty());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("64x64x64: left out: the winners of its runs cannot be raced"));
  EXPECT_THAT(log, HasSubstr("96x64x64: left out: the winners of its runs cannot be raced"));
}

}  // namespace
}  // namespace mmtune
