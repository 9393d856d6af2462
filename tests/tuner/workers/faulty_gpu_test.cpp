// "This candidate is bad" and "this GPU is faulty" are told apart: of a faulty GPU nothing is believed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <filesystem>
#include <fstream>

#include "test_paths.h"
#include "tests/tuner/cli_fixture.h"
#include "tests/tuner/faults_fixture.h"

namespace mmtune::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kBreaking = candidate_text("tiled", "TILE=16 UNROLL=4");

class FaultyGpu : public FaultsTest {
 protected:
  /// One after the other, in an order that the search gives.
  SessionOptions options() const {
    SessionOptions options = FaultsTest::options();
    options.jobs = 1;
    return options;
  }

  /// The run falls for kBreaking; what ran before that is stored, and no candidate is blamed.
  void expect_faulty_at_the_bad_one(const std::string& faults, const char* message) {
    std::filesystem::remove(path("log"));
    try {
      run(options(), faults + ";log@" + path("log"));
      ADD_FAILURE() << "a faulty GPU was not noticed";
    } catch (const DeviceLostError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("GPU 0 is faulty: "), HasSubstr(message)));
    }
    std::map<std::string, std::string> before;
    const auto ran = lines("log");
    for (auto each = ran.begin(); each != ran.end() && *each != kBreaking; ++each) before[*each] = "ok";
    EXPECT_FALSE(before.empty());
    EXPECT_EQ(outcomes(), before);
    EXPECT_TRUE(suspects().empty());
    EXPECT_TRUE(Store::open(path("test.db"), OpenMode::read_only).check().faults.empty());
  }
};

TEST_F(FaultyGpu, ThatLosesItsWorkersBlamesNobody) {
  expect_faulty_at_the_bad_one("abort@" + kBreaking + ";dead@" + path("dead"), "a kernel that is known to work");
  std::filesystem::remove(path("dead"));
  EXPECT_EQ(run(options(), "").tuned, 1) << "mended, the same command goes on";
  EXPECT_EQ(outcomes()[kBreaking], "ok");
}

TEST_F(FaultyGpu, IsNoticedAlsoAtTheLastCandidate) {
  SessionOptions last = options();
  last.only = only("TILE=16 UNROLL=4");
  EXPECT_THROW(run(last, "abort@" + kBreaking + ";dead@" + path("dead")), DeviceLostError);
  EXPECT_TRUE(trials().empty());
  EXPECT_TRUE(suspects().empty());
}

TEST_F(FaultyGpu, ThatCannotBeOpenedAnyMoreBlamesNobody) {
  expect_faulty_at_the_bad_one("abort@" + kBreaking + ";gone@" + path("gone"),
                               "it cannot be used in a new process (a test took the GPU away)");
}

TEST_F(FaultyGpu, ThatMiscountsBlamesNobody) {
  expect_faulty_at_the_bad_one("incorrect@" + kBreaking + ";miscounts@" + path("miscounts"),
                               "fails in a new process (wrong_result: a test)");
  std::filesystem::remove(path("miscounts"));
  EXPECT_EQ(run(options(), "").tuned, 1);
  EXPECT_EQ(outcomes()[kBreaking], "ok");
}

TEST_F(FaultyGpu, ThatMiscountsInTheRaceBlamesNobody) {
  const std::string faults = "race_incorrect@*;miscounts@" + path("miscounts");
  EXPECT_THROW(run(options(), faults), DeviceLostError);
  const auto found = outcomes();
  EXPECT_EQ(found.size(), candidates());
  for (const auto& [candidate, outcome] : found) EXPECT_EQ(outcome, "ok") << candidate;
  EXPECT_TRUE(Store::open(path("test.db"), OpenMode::read_only).winners().empty());
}

TEST_F(FaultyGpu, ThatMiscountsFromTheStartLeavesNothing) {
  std::ofstream(path("miscounts")) << "broken";
  EXPECT_THROW(run(options(), "miscounts@" + path("miscounts")), DeviceLostError);
  EXPECT_TRUE(trials().empty());
}

TEST_F(FaultyGpu, IsNotWhereOnlyTheCandidatesAreWrong) {
  EXPECT_EQ(run(options(), "incorrect@*").failed, 1);
  const auto found = outcomes();
  EXPECT_EQ(found.size(), candidates());
  for (const auto& [candidate, outcome] : found) EXPECT_EQ(outcome, "wrong_result") << candidate;
}

TEST_F(FaultyGpu, IsNotShownByAKernelThatWasEdited) {
  const ScopedEnv edited("MMTUNE_TEMPLATE_DIR", edited_templates("templates/families/naive/kernel.cu").c_str());
  std::ofstream(path("miscounts")) << "broken";
  EXPECT_EQ(run(options(), "miscounts@" + path("miscounts")).failed, 1);
  EXPECT_EQ(outcomes().size(), candidates());
}

TEST_F(FaultyGpu, IsNotWhereOneSpoiltItsOwnProcess) {
  EXPECT_EQ(run(options(), "spoils@" + kBreaking).tuned, 1);
  const auto found = outcomes();
  EXPECT_EQ(found.size(), candidates());
  for (const auto& [candidate, outcome] : found) {
    EXPECT_EQ(outcome, candidate == kBreaking ? "wrong_result" : "ok") << candidate;
  }
  EXPECT_TRUE(suspects().empty()) << "it ended nothing";
}

/// The program, whose GPU is pretended.
class FaultyGpuCli : public Cli {
 protected:
  ~FaultyGpuCli() override { std::filesystem::remove("/tmp/mmtune-" + uuid() + ".lock"); }

  static std::string uuid() { return fmt::format("GPU-test-{}-cli", getpid()); }

  Result tune(const std::string& faults) const {
    return shell(
        fmt::format("MMTUNE_TEST_FAULTS='{};uuid@{}' '{}' tune --device 0 --sizes 64 --family tiled --jobs 1 "
                    "--strategy exhaustive --db '{}'",
                    faults, uuid(), MMTUNE_PRETENDING_BINARY, path("test.db")));
  }
};

TEST_F(FaultyGpuCli, EndsWithItsExitCodeAndKeepsWhatWasKnown) {
  adopt_orphans();
  for (const std::string fault : {"abort", "incorrect"}) {
    std::filesystem::remove(path("test.db"));
    std::filesystem::remove(path("log"));
    const std::string defect = (fault == "abort" ? "dead@" : "miscounts@") + path(fault);
    const Result result = tune(fmt::format("{}@{};{};log@{}", fault, kBreaking, defect, path("log")));
    EXPECT_EQ(result.code, 6) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err,
                HasSubstr("mmtune: GPU 0 is faulty: a kernel that is known to work fails in a new process"));
    EXPECT_THAT(result.err, HasSubstr("reset the GPU, then run the same command to go on\n"));

    std::vector<std::string> ran, kept;
    std::ifstream log(path("log"));
    for (std::string line; std::getline(log, line) && line != kBreaking;) ran.push_back(line);
    Store store = Store::open(path("test.db"), OpenMode::read_only);
    for (const Trial& trial : store.trials()) kept.push_back(trial.key.family + ' ' + trial.key.config);
    EXPECT_FALSE(ran.empty());
    EXPECT_THAT(kept, testing::UnorderedElementsAreArray(ran));
    EXPECT_TRUE(store.winners().empty());
    EXPECT_TRUE(store.suspects().empty());
    expect_no_process_left();
  }
}

}  // namespace
}  // namespace mmtune::test
