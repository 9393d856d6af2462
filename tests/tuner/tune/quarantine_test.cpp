// A candidate that ends a worker or the machine is known, is tried once more, and then no longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "templates/gpu/gpu_catalog.h"
#include "tests/db/raw_sql.h"
#include "tests/tuner/faults_fixture.h"

namespace mmtune::test {
namespace {

using testing::HasSubstr;

const std::string kBad = candidate_text("tiled", "TILE=16 UNROLL=4");
const std::string kGood = candidate_text("tiled", "TILE=8 UNROLL=1");

class Quarantine : public FaultsTest {
 protected:
  /// Runs, and says whether kBad ran on the GPU.
  bool runs_the_bad_one(const SessionOptions& options, const std::string& faults) {
    std::filesystem::remove(path("log"));
    summary_ = run(options, faults + ";log@" + path("log"));
    return has_run(kBad);
  }

  bool has_run(const std::string& candidate) const {
    const std::vector<std::string> ran = lines("log");
    return std::find(ran.begin(), ran.end(), candidate) != ran.end();
  }

  bool has_raced() const { return !lines("race_log").empty(); }

  void be_killed_with_the_bad_one_running() {
    be_killed("hang@" + kBad + ";log@" + path("log"), [this] { return has_run(kBad); });
  }

  /// The machine was started again since.
  void reboot() const { change("UPDATE attempt SET boot = 'before' WHERE killed = 0"); }

  void change(const char* sql) const { run_raw(path("test.db"), sql); }

  /// All have their machine code then, and no trial.
  void compile_listed() const {
    run(listed(), "");
    change("DELETE FROM trial");
    std::filesystem::remove(path("log"));
  }

  /// Counted by SQLite in the file's header.
  unsigned write_transactions() const {
    std::ifstream file(path("test.db"), std::ios::binary);
    file.seekg(24);
    unsigned count = 0;
    for (int i = 0; i < 4; ++i) count = count << 8 | static_cast<unsigned char>(file.get());
    return count;
  }

  SessionSummary summary_;
};

TEST_F(Quarantine, WhatKillsTwiceIsNotTriedAThirdTime) {
  const std::string faults = "abort@" + kBad;
  EXPECT_TRUE(runs_the_bad_one(options(), faults));
  EXPECT_EQ(summary_.tuned, 1);
  ASSERT_EQ(suspects().size(), 1U);
  EXPECT_EQ(suspects()[0].kills, 1);

  EXPECT_TRUE(runs_the_bad_one(options(), faults)) << "not tried once more";
  EXPECT_FALSE(has_run(kGood)) << "the others are known";
  ASSERT_EQ(suspects().size(), 1U);
  EXPECT_EQ(suspects()[0].kills, kMostKills);
  EXPECT_EQ(suspects()[0].family + ' ' + suspects()[0].config, kBad);

  EXPECT_FALSE(runs_the_bad_one(options(), faults));
  EXPECT_EQ(summary_.known, 1) << "there is nothing left to try";
  SessionOptions again = options();
  again.mode = SessionMode::retune();
  EXPECT_FALSE(runs_the_bad_one(again, faults));
  EXPECT_TRUE(has_run(kGood));
  SessionOptions other_size = options();
  other_size.problems = {packed_problem(Precision::fp32, Layout::nn, 128, 64, 64)};
  EXPECT_FALSE(runs_the_bad_one(other_size, faults)) << "its source is the same for all sizes";
  EXPECT_EQ(summary_.tuned, 1);
}

TEST_F(Quarantine, WhatKillsOnceAndThenNoMoreMayWin) {
  EXPECT_TRUE(runs_the_bad_one(options(), "lost@" + kBad));
  EXPECT_TRUE(runs_the_bad_one(options(), ""));
  EXPECT_EQ(outcomes()[kBad], "ok");
  EXPECT_FALSE(runs_the_bad_one(options(), ""));
  EXPECT_EQ(summary_.known, 1);
}

TEST_F(Quarantine, AnotherDriverOrAPardonGivesAnotherChance) {
  const std::string faults = "abort@" + kBad;
  for (int i = 0; i < kMostKills; ++i) EXPECT_TRUE(runs_the_bad_one(options(), faults));
  SessionOptions again = options();
  again.seed = 2;  // another search, else nothing is left to do
  EXPECT_FALSE(runs_the_bad_one(again, faults));
  again.seed = 3;
  EXPECT_TRUE(runs_the_bad_one(again, faults + ";driver@2.0"));

  PruneRules rules;
  rules.set_aside = true;
  Store::open(path("test.db"), OpenMode::read_write).prune(rules);
  again.seed = 4;
  EXPECT_TRUE(runs_the_bad_one(again, ""));
  EXPECT_EQ(outcomes()[kBad], "ok");
}

TEST_F(Quarantine, TheCulpritOfACrashOfTheMachineIsNamedAndCounted) {
  for (int kills = 1; kills <= kMostKills; ++kills) {
    be_killed_with_the_bad_one_running();
    reboot();
    std::filesystem::remove(path("log"));
    testing::internal::CaptureStderr();
    run(options(), "log@" + path("log"));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr(kBad + " was running on "));
    EXPECT_EQ(has_run(kBad), kills < kMostKills);
    ASSERT_EQ(suspects().size(), 1U);
    EXPECT_EQ(suspects()[0].kills, kills);
    std::filesystem::remove(path("log"));
    change("DELETE FROM winner; DELETE FROM trial");
  }
}

TEST_F(Quarantine, ATunerThatIsKilledBlamesNobody) {
  be_killed_with_the_bad_one_running();
  EXPECT_TRUE(runs_the_bad_one(options(), ""));
  EXPECT_TRUE(suspects().empty());
  EXPECT_EQ(summary_.tuned, 1);
}

TEST_F(Quarantine, ARaceThatCrashesTheMachineIsHeldAgainstNoneAndNotRunAgain) {
  const std::string race_log = "race_log@" + path("race_log");
  be_killed("race_hang@*;" + race_log, [this] { return has_raced(); });
  reboot();
  std::filesystem::remove(path("race_log"));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(runs_the_bad_one(options(), race_log)) << "all are known";
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(" was racing on "));
  EXPECT_FALSE(has_raced());
  EXPECT_TRUE(suspects().empty());
  EXPECT_EQ(summary_.tuned, 1);

  SessionOptions other_size = options();
  other_size.problems = {packed_problem(Precision::fp32, Layout::nn, 128, 64, 64)};
  EXPECT_TRUE(runs_the_bad_one(other_size, race_log));
  EXPECT_TRUE(has_raced());
}

TEST_F(Quarantine, ARaceThatLosesItsWorkerIsHeldAgainstNobody) {
  for (int i = 0; i < kMostKills; ++i) {
    SessionOptions again = options();
    again.mode = SessionMode::retune();
    EXPECT_TRUE(runs_the_bad_one(again, "race_abort@*"));
    EXPECT_EQ(summary_.tuned, 1);
    EXPECT_TRUE(suspects().empty());
  }
}

TEST_F(Quarantine, IsOfAGpuModelAndOfAKernelAsItIs) {
  const std::string faults = "abort@" + kBad;
  for (int i = 0; i < kMostKills; ++i) EXPECT_TRUE(runs_the_bad_one(options(), faults));
  SessionOptions again = options();
  again.mode = SessionMode::retune();
  EXPECT_FALSE(runs_the_bad_one(again, ""));

  SessionOptions other_model = again;  // The source is the same for it.
  other_model.devices[0].spec = catalog_gpu("h100");
  other_model.devices[0].spec.uuid = gpu_uuid(1);
  EXPECT_TRUE(runs_the_bad_one(other_model, ""));

  const ScopedEnv edited("MMTUNE_TEMPLATE_DIR", edited_templates("templates/families/tiled/kernel.cu").c_str());
  EXPECT_TRUE(runs_the_bad_one(again, ""));
}

TEST_F(Quarantine, ListedCandidatesTakeTwoTransactionsTogether) {
  compile_listed();
  const unsigned before = write_transactions();
  run(listed(), "");
  EXPECT_EQ(trials().size(), candidates());
  ASSERT_GT(candidates(), 4U);
  EXPECT_EQ(write_transactions() - before, 2U) << "the attempts, and the trials";
}

TEST_F(Quarantine, ListedCandidatesRunOneByOneAfterACrashOfTheMachine) {
  for (const char* verb : {"racing", "running"}) {
    compile_listed();
    be_killed(listed(), "hang@" + kBad + ";log@" + path("log"), [this] { return has_run(kBad); });
    reboot();
    EXPECT_TRUE(suspects().empty());
    testing::internal::CaptureStderr();
    run(listed(), "");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(fmt::format("{} was {} on ", kBad, verb)));
  }
  ASSERT_EQ(suspects().size(), 1U);
  EXPECT_EQ(suspects()[0].family + ' ' + suspects()[0].config, kBad);
}

TEST_F(Quarantine, AListedCandidateThatKillsIsCountedAtOnce) {
  SessionOptions many = listed();
  for (std::int64_t m = 128; m < 256; m += 32) many.problems.push_back(packed_problem(Precision::fp32, {}, m, 64, 64));
  EXPECT_TRUE(runs_the_bad_one(many, "abort@" + kBad));
  const std::vector<std::string> ran = lines("log");
  EXPECT_EQ(std::count(ran.begin(), ran.end(), kBad), kMostKills);
}

TEST_F(Quarantine, AttemptsCostNoTransactionsOfTheirOwn) {
  // What was listed is not decided, so that all machine code is kept and no program is waited for afterwards.
  run(listed(), "");
  SessionOptions again = options();
  again.mode = SessionMode::retune();
  const unsigned before = write_transactions();
  run(again, "");
  const auto candidates = static_cast<unsigned>(outcomes().size());
  // The first attempt, those of the race, the race and the decision.
  EXPECT_LE(write_transactions() - before, candidates + 4);
  EXPECT_GE(write_transactions() - before, candidates);
}

}  // namespace
}  // namespace mmtune::test
