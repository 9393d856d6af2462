// Tests of which finalist runs when in a race, and what becomes of disturbed rounds, with sensors that NVML pretends to
// have.
#include "tuner/lanes/race_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "test_paths.h"
#include "tests/fake_nvml/fake_nvml.h"

namespace mmtune {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Gt;

std::chrono::nanoseconds no_time() { return {}; }

/// Finalists with times that never change on a GPU with these sensors; remembers which ran when.
class RaceRounds : public ::testing::Test {
 protected:
  /// `before_round(n)` comes before the first sample of round n, disturbed ones counted.
  RoundsRun run(
      const std::vector<double>& times_us, const std::function<void(int)>& before_round = [](int) {},
      const std::function<std::chrono::nanoseconds()>& elapsed = no_time) {
    return run_rounds(
        times_us.size(),
        [&](std::size_t finalist, bool count_processes) {
          if (orders_.empty() || count_processes) {
            before_round(static_cast<int>(orders_.size()));
            orders_.emplace_back();
          }
          orders_.back().push_back(finalist);
          return RaceSample{times_us[finalist], read(nvml_, count_processes)};
        },
        elapsed);
  }

  static Timing described(const Conditions& conditions) {
    Timing timing;
    conditions.describe(timing);
    return timing;
  }

  test::NvmlAnswers& nvml_answers_ = test::fake_nvml();
  Nvml nvml_{test::kFakeGpu, {MMTUNE_FAKE_NVML}};
  std::vector<std::vector<std::size_t>> orders_;  ///< the order of each round
};

TEST_F(RaceRounds, EachRunsOnceARound) {
  const RoundsRun rounds = run({1, 1, 1, 1});
  EXPECT_EQ(orders_.size(), rounds.race.rounds());
  for (auto order : orders_) {
    std::sort(order.begin(), order.end());
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
  }
  EXPECT_THAT(rounds.race.samples_us(), Each(std::vector<double>(orders_.size(), 1)));
}

TEST_F(RaceRounds, EveryRoundHasAnOrderOfItsOwn) {
  run({1, 1, 1, 1});
  const std::set<std::vector<std::size_t>> different(orders_.begin(), orders_.end());
  EXPECT_GE(different.size(), orders_.size() / 2) << "of " << orders_.size();
  std::vector<int> firsts(4);
  std::vector<int> lasts(4);
  for (const auto& order : orders_) {
    ++firsts[order.front()];
    ++lasts[order.back()];
  }
  EXPECT_THAT(firsts, Each(Gt(0))) << "one never comes first";
  EXPECT_THAT(lasts, Each(Gt(0))) << "one never comes last";
}

TEST_F(RaceRounds, TimesGoToTheFinalistsThatTookThem) {
  const RoundsRun rounds = run({3, 1, 2});
  EXPECT_THAT(rounds.race.samples_us()[0], Each(3.0));
  EXPECT_THAT(rounds.race.samples_us()[1], Each(1.0));
  EXPECT_THAT(rounds.race.samples_us()[2], Each(2.0));
}

TEST_F(RaceRounds, WhatIsDroppedRunsNoMore) {
  // The first two change places, so that neither is ahead.
  std::vector<double> times_us{1, 1, 2};
  run(times_us, [&times_us](int round) { times_us[1] = round % 2 == 0 ? 0.99 : 1.01; });
  ASSERT_GT(orders_.size(), RaceRules{}.least_rounds);
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    EXPECT_EQ(orders_[i].size(), i < RaceRules{}.least_rounds ? 3U : 2U) << "round " << i;
  }
}

TEST_F(RaceRounds, DisturbedRoundsAreRunAgain) {
  const RoundsRun rounds = run({1, 1}, [this](int round) {
    nvml_answers_.reasons = round == 1 ? kThermalSlowdown : 0;
    nvml_answers_.processes = round == 4 ? 2 : 1;
  });
  EXPECT_EQ(orders_.size(), rounds.race.rounds() + 2);
  for (const Conditions& conditions : rounds.conditions) {
    const Timing timing = described(conditions);
    EXPECT_EQ(timing.disturbed, 0);
    EXPECT_EQ(timing.throttle, 0) << "of a round that does not count";
    EXPECT_EQ(timing.conditions.co_tenants, 0);
    EXPECT_EQ(timing.sm_clock_mhz, 1410);
    EXPECT_EQ(timing.conditions.memory_clock_mhz, 2619);
  }
}

TEST_F(RaceRounds, WhatStaysDisturbedIsFlaggedAndTheRaceEnds) {
  nvml_answers_.processes = 3;
  const RoundsRun rounds = run({1, 1});
  EXPECT_TRUE(rounds.race.over());
  EXPECT_EQ(orders_.size(), rounds.race.rounds() + RaceRules{}.most_repeats);
  for (const Conditions& conditions : rounds.conditions) {
    const Timing timing = described(conditions);
    EXPECT_EQ(timing.disturbed, static_cast<int>(rounds.race.rounds()));
    EXPECT_EQ(timing.conditions.co_tenants, 2);
  }
}

TEST_F(RaceRounds, WhatDisturbsOneDisturbsTheRound) {
  std::size_t samples = 0;
  const RoundsRun rounds = run_rounds(
      2,
      [&](std::size_t, bool count_processes) {
        nvml_answers_.reasons = ++samples % 2 == 0 ? kPowerBrake : 0;  // No first of a round has it.
        return RaceSample{1, read(nvml_, count_processes)};
      },
      no_time);
  for (const Conditions& conditions : rounds.conditions) {
    EXPECT_EQ(described(conditions).disturbed, static_cast<int>(rounds.race.rounds()));
  }
}

TEST_F(RaceRounds, ThePowerCapIsToldAndDisturbsNothing) {
  nvml_answers_.reasons = kPowerCap;
  const RoundsRun rounds = run({1, 1});
  EXPECT_EQ(orders_.size(), rounds.race.rounds());
  EXPECT_EQ(described(rounds.conditions[0]).throttle, kPowerCap);
  EXPECT_EQ(described(rounds.conditions[1]).disturbed, 0);
}

TEST_F(RaceRounds, TimeThatIsUpEndsARaceAfterAFewRounds) {
  const RoundsRun rounds = run(
      std::vector<double>(8, 1), [](int) {}, [] { return std::chrono::seconds(2); });
  EXPECT_FALSE(rounds.race.over());
  EXPECT_EQ(rounds.race.rounds(), 5U);
  EXPECT_EQ(rounds.race.placings().size(), 8U);
  for (const Conditions& conditions : rounds.conditions) {
    EXPECT_EQ(described(conditions).conditions.co_tenants, 0) << "some never came first, when processes are counted";
  }
}

/// With no look at them a stored winner stays however slow it is.
TEST_F(RaceRounds, ThoseOfLongCallsRunOnUntilTheFirstLook) {
  std::vector<double> times_us{1, 1, 2};
  const RoundsRun rounds = run(
      times_us, [&times_us](int round) { times_us[1] = round % 2 == 0 ? 0.99 : 1.01; },
      [] { return std::chrono::seconds(1); });
  EXPECT_FALSE(rounds.race.over());
  EXPECT_EQ(rounds.race.rounds(), RaceRules{}.least_rounds);
  EXPECT_EQ(rounds.race.placings()[2].standing, Standing::slower);
}

}  // namespace
}  // namespace mmtune
