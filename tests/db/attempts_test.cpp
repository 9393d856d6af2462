// Attempts: what was running when a worker or the machine ended has a name.
#include <gmock/gmock.h>
#include <mmtune/error.h>

#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

constexpr const char* kGpu = "GPU-1234";

LaunchRecord sample_attempt(int number = 0, const std::string& boot = "this-boot") {
  const Trial trial = sample_trial(number);
  return {trial.key, trial.environment, boot};
}

Trial with_outcome(Outcome outcome, int number = 0) {
  Trial trial = sample_trial(number);
  trial.outcome = outcome;
  return trial;
}

class AttemptsTest : public StoreTest {
 protected:
  int kills() {
    const auto found = store_.suspects();
    return found.empty() ? 0 : found.front().kills;
  }

  Store store_ = open();
};

TEST_F(AttemptsTest, ItsTrialEndsItAndTheNextBeginsWithThat) {
  const LaunchRecord second = sample_attempt(1);
  store_.begin({sample_attempt(0)});
  store_.put(sample_trial(0), nullptr, &second);
  const auto culprits = store_.settle(kGpu, "next-boot");
  ASSERT_EQ(culprits.size(), 1U);
  EXPECT_EQ(culprits[0].config, second.key.config);
}

TEST_F(AttemptsTest, ManyTrialsEndThemAndManyBeginWithThat) {
  store_.begin({sample_attempt(0), sample_attempt(1), sample_attempt(2)});
  store_.put({sample_trial(0), sample_trial(1)}, {}, {sample_attempt(3), sample_attempt(4)});
  EXPECT_EQ(store_.settle(kGpu, "next-boot").size(), 2U) << "what ran before is over, without a trial, too";
  EXPECT_TRUE(store_.crashed_in_race(sample_attempt(3).key, sample_trial().environment.driver));
}

TEST_F(AttemptsTest, WhatOneBootLeftToAnotherCrashedTheMachine) {
  store_.begin({sample_attempt()});
  EXPECT_EQ(kills(), 0);
  EXPECT_EQ(store_.settle(kGpu, "next-boot").size(), 1U);
  EXPECT_EQ(kills(), 1);
  EXPECT_TRUE(store_.settle(kGpu, "next-boot").empty()) << "counted twice";
  EXPECT_EQ(kills(), 1);
}

TEST_F(AttemptsTest, WhatTheSameBootLeftIsForgotten) {
  store_.begin({sample_attempt()});
  EXPECT_TRUE(store_.settle(kGpu, "this-boot").empty());
  EXPECT_TRUE(store_.settle(kGpu, "next-boot").empty());
  EXPECT_EQ(kills(), 0);
}

TEST_F(AttemptsTest, OtherGpusAreLeftAlone) {
  store_.begin({sample_attempt()});
  EXPECT_TRUE(store_.settle("GPU-5678", "next-boot").empty());
  EXPECT_EQ(store_.settle(kGpu, "next-boot").size(), 1U);
}

TEST_F(AttemptsTest, ThoseThatEndTheirWorkerAreCounted) {
  for (const Outcome outcome : {Outcome::crashed, Outcome::timed_out}) {
    store_.begin({sample_attempt()});
    store_.put(with_outcome(outcome));
  }
  for (const Outcome outcome : {Outcome::ok, Outcome::wrong_result, Outcome::too_slow, Outcome::launch_failed}) {
    store_.begin({sample_attempt()});
    store_.put(with_outcome(outcome));
  }
  const auto suspects = store_.suspects();
  ASSERT_EQ(suspects.size(), 1U);
  const Trial trial = sample_trial();
  EXPECT_EQ(suspects[0].device, trial.key.device);
  EXPECT_EQ(suspects[0].driver, trial.environment.driver);
  EXPECT_EQ(suspects[0].source_hash, trial.key.source_hash);
  EXPECT_EQ(suspects[0].kills, 2);
  EXPECT_EQ(store_.suspects("ffff").size(), 0U);
  EXPECT_EQ(store_.suspects(trial.key.source_hash).size(), 1U);
}

TEST_F(AttemptsTest, ACompilerThatCrashesIsNoKill) {
  store_.put(with_outcome(Outcome::crashed));
  EXPECT_EQ(kills(), 0);
}

TEST_F(AttemptsTest, AnotherDriverStartsAgain) {
  LaunchRecord attempt = sample_attempt();
  store_.begin({attempt});
  store_.put(with_outcome(Outcome::crashed));
  attempt.environment.driver = "590.0";
  store_.begin({attempt});
  store_.put(with_outcome(Outcome::crashed));
  const auto suspects = store_.suspects();
  ASSERT_EQ(suspects.size(), 2U);
  EXPECT_EQ(suspects[0].kills + suspects[1].kills, 2);
}

TEST_F(AttemptsTest, PruningSetsThemFree) {
  store_.begin({sample_attempt()});
  store_.put(with_outcome(Outcome::crashed));
  Trial other = with_outcome(Outcome::crashed, 1);
  other.key.source_hash = "another";  // its compiler crashed
  store_.put(other);
  PruneRules rules;
  rules.set_aside = true;
  EXPECT_EQ(store_.count_prunable(rules).suspects, 1);
  EXPECT_EQ(store_.count_prunable(rules).trials, 1);
  const PruneReport report = store_.prune(rules);
  EXPECT_EQ(report.suspects, 1);
  EXPECT_EQ(report.trials, 1);
  EXPECT_TRUE(store_.suspects().empty());
  EXPECT_FALSE(store_.find(sample_trial().key));
  EXPECT_TRUE(store_.find(other.key));
}

TEST_F(AttemptsTest, ARaceThatCrashesTheMachineIsNobodysKill) {
  store_.begin({sample_attempt(0), sample_attempt(1)});
  EXPECT_EQ(store_.settle(kGpu, "next-boot").size(), 2U);
  EXPECT_EQ(kills(), 0);
  const std::string driver = sample_trial().environment.driver;
  EXPECT_TRUE(store_.crashed_in_race(sample_trial(0).key, driver));
  EXPECT_TRUE(store_.crashed_in_race(sample_trial(1).key, driver));
  EXPECT_FALSE(store_.crashed_in_race(sample_trial(0).key, "590.0"));
  TrialKey other = sample_trial(0).key;
  other.problem.m *= 2;
  EXPECT_FALSE(store_.crashed_in_race(other, driver));
  other = sample_trial(0).key;
  other.source_hash = "another";
  EXPECT_FALSE(store_.crashed_in_race(other, driver));

  PruneRules rules;
  rules.set_aside = true;
  EXPECT_EQ(store_.prune(rules).suspects, 0);
  EXPECT_FALSE(store_.crashed_in_race(sample_trial(0).key, driver));
}

TEST_F(AttemptsTest, WhatBeginsEndsWhatRanThereBefore) {
  store_.begin({sample_attempt(0), sample_attempt(1)});  // a race that was given up
  LaunchRecord elsewhere = sample_attempt(2);
  elsewhere.environment.device_uuid = "GPU-5678";
  store_.begin({elsewhere});
  store_.begin({sample_attempt(1)});
  const auto culprits = store_.settle(kGpu, "next-boot");
  ASSERT_EQ(culprits.size(), 1U);
  EXPECT_EQ(culprits[0].config, sample_trial(1).key.config);
  EXPECT_EQ(kills(), 1);
  EXPECT_EQ(store_.settle("GPU-5678", "next-boot").size(), 1U);
}

TEST_F(AttemptsTest, RefusesWhatItWouldNotReadBack) {
  EXPECT_THROW(store_.begin({sample_attempt(0, "two words")}), DatabaseError);
  LaunchRecord attempt = sample_attempt();
  attempt.key.config = "no configuration";
  EXPECT_THROW(store_.begin({attempt}), DatabaseError);
}

}  // namespace
}  // namespace mmtune::test
