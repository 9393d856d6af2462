// A source whose compiler gave no answer is compiled once more in the next run, and whenever it gets more time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/faults_fixture.h"

namespace mmtune::test {
namespace {

constexpr const char* kLost = "tiled TILE=16 UNROLL=4";
const std::string kHangs = std::string("compile_hang@") + kLost;
const std::string kKilled = std::string("compile_abort@") + kLost;

class LostCompilesTest : public FaultsTest {
 protected:
  /// Runs, and says how often kLost was compiled.
  std::ptrdiff_t compiles(const SessionOptions& options, const std::string& faults) {
    std::filesystem::remove(path("log"));
    summary_ = run(options, faults + ";compile_log@" + path("log"));
    const std::vector<std::string> compiled = lines("log");
    return std::count(compiled.begin(), compiled.end(), kLost);
  }

  std::vector<LostCompile> lost() const { return Store::open(path("test.db"), OpenMode::read_only).lost_compiles(); }

  Outcome outcome() const {
    for (const Trial& trial : trials()) {
      if (trial.key.family + ' ' + trial.key.config == kLost) return trial.outcome;
    }
    return Outcome::compile_failed;
  }

  SessionOptions patient() const {
    SessionOptions patient = options();
    patient.compile_limit_s = 20;
    return patient;
  }

  SessionSummary summary_;
};

TEST_F(LostCompilesTest, WhatABusyHostLostIsCompiledInTheNextRun) {
  EXPECT_EQ(compiles(options(), kHangs), 1);
  EXPECT_EQ(outcome(), Outcome::timed_out);
  EXPECT_EQ(compiles(options(), ""), 1);
  EXPECT_EQ(outcome(), Outcome::ok);
  EXPECT_EQ(compiles(options(), ""), 0);
  EXPECT_EQ(summary_.known, 1);
}

TEST_F(LostCompilesTest, WhatIsLostTwiceIsCompiledOnlyWithALargerLimit) {
  EXPECT_EQ(compiles(options(), kKilled), 1);
  EXPECT_EQ(compiles(options(), kKilled), 1) << "not tried once more";
  EXPECT_EQ(compiles(options(), kKilled), 0);
  EXPECT_EQ(summary_.known, 1) << "there is nothing left to try";
  ASSERT_EQ(lost().size(), 1U);
  EXPECT_EQ(lost()[0].losses, kMostLosses);
  EXPECT_EQ(lost()[0].limit_ms, 1000);
  EXPECT_EQ(lost()[0].outcome, Outcome::crashed);
  SessionOptions again = options();
  again.mode = SessionMode::retune();
  EXPECT_EQ(compiles(again, kKilled), 0);

  EXPECT_EQ(compiles(patient(), kKilled), 1) << "there is more time";
  EXPECT_EQ(lost()[0].limit_ms, 20'000);
  EXPECT_EQ(compiles(patient(), ""), 0);
  SessionOptions more = patient();
  more.compile_limit_s = 30;
  EXPECT_EQ(compiles(more, ""), 1);
  EXPECT_EQ(outcome(), Outcome::ok);
}

TEST_F(LostCompilesTest, ARunTriesASourceOnceForAllItsSizes) {
  SessionOptions several = options();
  several.problems.push_back(packed_problem(Precision::fp32, Layout::nn, 96, 64, 64));
  several.problems.push_back(packed_problem(Precision::fp32, Layout::nn, 128, 64, 64));
  EXPECT_EQ(compiles(several, kHangs), 1);
  EXPECT_EQ(summary_.tuned, 3);
  EXPECT_EQ(lost().at(0).losses, 1);
  EXPECT_EQ(compiles(several, ""), 1);
  EXPECT_EQ(compiles(several, ""), 0);
  EXPECT_EQ(summary_.known, 3);
}

TEST_F(LostCompilesTest, AreForgottenWithTheOthersThatAreSetAside) {
  compiles(options(), kKilled);
  Store store = Store::open(path("test.db"), OpenMode::read_write);
  PruneRules rules;
  rules.set_aside = true;
  EXPECT_EQ(store.count_prunable(rules).trials, 1);
  const PruneReport report = store.prune(rules);
  EXPECT_EQ(report.suspects, 1);
  EXPECT_EQ(report.trials, 1);
  EXPECT_TRUE(store.lost_compiles().empty());
}

}  // namespace
}  // namespace mmtune::test
