// The race over synthetic samples: how often it errs, how long it takes, and which finalist wins a tie.
#include "tuner/race/race.h"

#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace mmtune {
namespace {

using Times = std::vector<double>;

/// Samples as a GPU gives them: a clock that drifts for all, noise of each sample, now and then a hiccup.
class Track {
 public:
  Track(Times true_us, double noise, std::uint64_t seed) : true_us_(std::move(true_us)), noise_(noise), random_(seed) {}

  Times round(const std::vector<std::size_t>& running) {
    std::normal_distribution<double> normal;
    drift_ = 0.9 * drift_ + noise_ * normal(random_);
    Times round_us;
    for (const std::size_t i : running) {
      const double hiccup = random_() % 32 == 0 ? 1.3 : 1;
      round_us.push_back(true_us_[i] * std::exp(drift_ + noise_ * normal(random_)) * hiccup);
    }
    return round_us;
  }

 private:
  Times true_us_;
  double noise_;
  std::mt19937_64 random_;
  double drift_ = 0;
};

Race run(const Times& true_us, double noise, std::uint64_t seed, const RaceRules& rules = {}) {
  Track track(true_us, noise, seed);
  Race race(true_us.size(), rules);
  while (!race.over()) race.add(track.round(race.running()));
  return race;
}

std::vector<Standing> standings(const Race& race) {
  std::vector<Standing> list;
  for (const Placing& placing : race.placings()) list.push_back(placing.standing);
  return list;
}

/// Claims without any merit but their names.
std::vector<Claim> plain_claims(std::size_t count) {
  std::vector<Claim> claims(count);
  for (std::size_t i = 0; i < count; ++i) claims[i].name = std::string(1, static_cast<char>('a' + i));
  return claims;
}

TEST(Race, DropsTheFastestNoMoreOftenThanItMay) {
  RaceRules rules;
  rules.error = 0.05;
  constexpr int kRaces = 1000;
  for (const double rival : {1.0001, 1.002}) {
    int dropped = 0;
    for (int seed = 0; seed < kRaces; ++seed) {
      const Race race = run({1, rival, rival, rival, rival, rival}, 0.01, static_cast<std::uint64_t>(seed), rules);
      dropped += race.placings()[0].standing == Standing::slower ? 1 : 0;
    }
    EXPECT_LE(dropped, kRaces * rules.error + 3 * std::sqrt(kRaces * rules.error)) << "of " << kRaces;
  }
}

TEST(Race, AClearLeadIsSeenAtTheFirstLook) {
  const Race race = run({1.05, 1, 1.1, 1.06}, 0.005, 1);
  EXPECT_EQ(race.rounds(), RaceRules{}.least_rounds);
  EXPECT_EQ(standings(race), (std::vector{Standing::slower, Standing::leader, Standing::slower, Standing::slower}));
}

TEST(Race, OfManyThoseFarBehindInAllEarlyRoundsRunNoFurther) {
  for (const std::size_t finalists : {RaceRules{}.many, RaceRules{}.many + 1}) {
    Race race(finalists);
    for (std::size_t round = 0; round < RaceRules{}.early_rounds; ++round) {
      ASSERT_EQ(race.running().size(), finalists) << round;
      Times times(finalists, 1.01);
      times[0] = round == 2 ? 1.4 : 1.0;
      times[1] = round == 1 ? 1.02 : 1.1;
      times[2] = 1.06;
      race.add(times);
    }
    const bool are_many = finalists > RaceRules{}.many;
    EXPECT_EQ(race.running().size(), are_many ? finalists - 1 : finalists) << "one round of four does not tell";
    EXPECT_EQ(race.placings()[1].standing, Standing::undecided);
    EXPECT_EQ(race.placings()[2].standing, are_many ? Standing::slower : Standing::undecided);
    EXPECT_NEAR(race.placings()[2].ratio.median, 1.06, 1e-9);
  }
}

TEST(Race, ManyFarBehindDoNotMakeTheOthersHarderToTell) {
  Times times(32, 1.06);
  times[5] = 1;
  times[9] = 1.02;
  RaceRules all_run_on;
  all_run_on.many = times.size();
  int at_first_look = 0, otherwise = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Race race = run(times, 0.002, seed);
    EXPECT_EQ(race.placings()[5].standing, Standing::leader) << seed;
    at_first_look += race.rounds() == RaceRules{}.least_rounds ? 1 : 0;
    otherwise += run(times, 0.002, seed, all_run_on).rounds() == RaceRules{}.least_rounds ? 1 : 0;
  }
  EXPECT_GE(at_first_look, 25) << "the others have one hiccup of the leader";
  EXPECT_EQ(otherwise, 0);
}

TEST(Race, ASmallLeadIsFoundInMoreRounds) {
  constexpr int kRaces = 200;
  int found = 0;
  std::size_t rounds = 0;
  for (int seed = 0; seed < kRaces; ++seed) {
    const Race race = run({1.015, 1}, 0.01, static_cast<std::uint64_t>(seed));
    found += choose_winner(race.placings(), plain_claims(2)) == 1 ? 1 : 0;
    rounds += race.rounds();
  }
  EXPECT_GE(found, kRaces * 9 / 10);
  EXPECT_GT(rounds, kRaces * RaceRules{}.least_rounds);
}

TEST(Race, ALeadThatAnotherRunMayNotFindBeatsNobody) {
  RaceRules exact;
  exact.noise = 1;
  int slower = 0, slower_here = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    slower += standings(run({1.0025, 1}, 0.004, seed))[0] == Standing::slower ? 1 : 0;
    slower_here += standings(run({1.0025, 1}, 0.004, seed, exact))[0] == Standing::slower ? 1 : 0;
  }
  EXPECT_GT(slower_here, 10) << "which this run alone is sure of";
  EXPECT_LE(slower, 2);
}

TEST(Race, EqualKernelsTieBeforeTheCap) {
  int ties = 0;
  constexpr int kRaces = 100;
  for (int seed = 0; seed < kRaces; ++seed) {
    const Race race = run({1, 1, 1}, 0.002, static_cast<std::uint64_t>(seed));
    const auto list = standings(race);
    ties += std::count(list.begin(), list.end(), Standing::tied) == 2 && race.rounds() < RaceRules{}.most_rounds;
  }
  EXPECT_GE(ties, kRaces * 95 / 100);
}

TEST(Race, EndsAtItsCapWhateverTheNoise) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Track track({1, 1.01, 1.02}, 0.5, seed);
    Race race(3);
    std::size_t added = 0;
    for (; !race.over(); ++added) race.add(track.round(race.running()), added % 2 == 0);
    EXPECT_LE(race.rounds(), RaceRules{}.most_rounds);
    EXPECT_LE(added, RaceRules{}.most_rounds + RaceRules{}.most_repeats);
    EXPECT_EQ(race.samples_us()[race.running().front()].size(), race.rounds());
  }
}

TEST(Race, TimesWithoutNoiseAreTiedWithinTheMargin) {
  std::vector<Standing> list;
  for (const Placing& placing : race_without_noise({100, 100, 100.4, 100.6})) list.push_back(placing.standing);
  EXPECT_EQ(list, (std::vector{Standing::leader, Standing::tied, Standing::tied, Standing::slower}));
}

TEST(Race, DisturbedRoundsAreRunAgainButNotForEver) {
  Race race(2);
  const std::size_t repeats = RaceRules{}.most_repeats;
  for (std::size_t i = 0; i < repeats; ++i) EXPECT_FALSE(race.add({1, 9}, true));
  EXPECT_EQ(race.rounds(), 0U);
  EXPECT_TRUE(race.add({2, 1}, true)) << "then the data is kept";
  EXPECT_TRUE(race.add({2, 1}));
  EXPECT_EQ(race.samples_us()[1], (Times{1, 1}));
}

TEST(Race, TimeMayRunOutBeforeTheFirstLook) {
  Race race(3);
  EXPECT_THROW(race.placings(), Error);
  for (int i = 0; i < 5; ++i) race.add({1.2, 1, 1.005});
  EXPECT_EQ(standings(race), (std::vector{Standing::undecided, Standing::leader, Standing::undecided}));
  EXPECT_DOUBLE_EQ(race.placings()[0].ratio.median, 1.2);
  auto claims = plain_claims(3);
  claims[0].footprint_bytes = claims[2].footprint_bytes = 1;
  claims[1].footprint_bytes = 2;
  EXPECT_EQ(choose_winner(race.placings(), claims), 2U) << "no finalist that seems 20 % slower wins by a footprint";
}

TEST(Race, WhatIsDroppedRunsNoFurther) {
  Race race(3);
  while (race.rounds() < RaceRules{}.least_rounds) race.add({1, 1 + 0.01 * static_cast<double>(race.rounds() % 2), 2});
  ASSERT_FALSE(race.over());
  EXPECT_EQ(race.running(), (std::vector<std::size_t>{0, 1}));
  EXPECT_THROW(race.add({1, 1, 2}), Error);
  race.add({1, 1});
  EXPECT_EQ(race.samples_us()[2].size(), RaceRules{}.least_rounds);
  EXPECT_DOUBLE_EQ(race.placings()[2].ratio.median, 2);
}

Placing placed(Standing standing, double ratio) { return {standing, {ratio, ratio, ratio}}; }

class ChooseWinner : public ::testing::Test {
 protected:
  std::vector<Placing> placings_{placed(Standing::leader, 1), placed(Standing::tied, 1.002),
                                 placed(Standing::tied, 1.003), placed(Standing::undecided, 1.04),
                                 placed(Standing::slower, 1.005)};
  std::vector<Claim> claims_ = plain_claims(5);
};

TEST_F(ChooseWinner, DefaultsStayUnlessTheyAreBeaten) {
  claims_[3].is_default = true;
  claims_[1].is_incumbent = true;
  EXPECT_EQ(choose_winner(placings_, claims_), 3U);
  placings_[3].standing = Standing::slower;
  EXPECT_EQ(choose_winner(placings_, claims_), 1U);
}

TEST_F(ChooseWinner, IncumbentsStayUnlessTheyAreBeaten) {
  claims_[2].is_incumbent = true;
  claims_[1].neighbour = 0;
  EXPECT_EQ(choose_winner(placings_, claims_), 2U);
  claims_[2].is_incumbent = false;
  claims_[4].is_incumbent = true;
  EXPECT_EQ(choose_winner(placings_, claims_), 1U);
}

TEST_F(ChooseWinner, MoreThanATieBehindNeighboursAreNotPreferred) {
  placings_ = {placed(Standing::leader, 1), placed(Standing::undecided, 1.006)};
  claims_ = plain_claims(2);
  claims_[1].neighbour = 0;
  EXPECT_EQ(choose_winner(placings_, claims_), 0U);
  placings_[1] = placed(Standing::undecided, 1.004);
  EXPECT_EQ(choose_winner(placings_, claims_), 1U);
}

TEST_F(ChooseWinner, NearestNeighboursGoBeforeFootprints) {
  for (Claim& claim : claims_) claim.footprint_bytes = 100;
  claims_[0].footprint_bytes = 50;
  claims_[1].neighbour = 3;
  claims_[2].neighbour = 1;
  claims_[4].neighbour = 0;
  EXPECT_EQ(choose_winner(placings_, claims_), 2U);
}

TEST_F(ChooseWinner, SmallerFootprintsGoBeforeNames) {
  for (Claim& claim : claims_) claim.footprint_bytes = 100;
  EXPECT_EQ(choose_winner(placings_, claims_), 0U);
  claims_[2].footprint_bytes = 99;
  claims_[3].footprint_bytes = claims_[4].footprint_bytes = 1;
  EXPECT_EQ(choose_winner(placings_, claims_), 2U);
}

}  // namespace
}  // namespace mmtune
