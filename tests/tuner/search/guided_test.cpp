// The default strategy on landscapes that were never measured: the analytic model's times, bent by errors that the
// strategy cannot know, as GPUs do it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/family_spaces.h"
#include "tuner/tune/lessons.h"

namespace mmtune {
namespace {

constexpr const char* kRestriction =
    "BM=64,128 BN=64,128,256 BK=16,32 TM=8,16 TN=8,16 LANES_N=8 LOAD=2 STAGES=2,3 UNROLL=16 ORDER=1,2 GROUP=1,8 "
    "PACK=0,1 SPLIT=1";

Problem fp32_square(std::int64_t n) { return packed_problem(Precision::fp32, Layout::nn, n, n, n); }

FamilySpaces spaces_of(const Problem& problem, const char* restriction = kRestriction) {
  return FamilySpaces({&family_named("simt")}, problem, catalog_gpu("h200"), parse_restriction(restriction));
}

/// A number in [-1, 1] that depends on the text and the landscape alone (FNV-1a).
double whim(std::uint64_t landscape, const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ (landscape * 0x9e3779b97f4a7c15);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash ^= hash >> 29;
  return static_cast<double>((hash * 0xbf58476d1ce4e5b9) >> 11) / static_cast<double>(1ULL << 52) - 1;
}

/// What a candidate takes there: every value costs up to 6 % more or less than the model knows, every pair of values of
/// neighbouring parameters up to 4 %, and what the compiler makes of it up to 1 %.
double landscape_us(std::uint64_t landscape, const FamilySpaces& spaces, CandidateNumber number) {
  const Candidate candidate = spaces.candidate(number);
  double bend = 0.01 * whim(landscape, key_of(candidate));
  std::string before;
  for (const Setting& setting : candidate.config.settings()) {
    const std::string word = setting.name + std::to_string(setting.value);
    bend += 0.06 * whim(landscape, word) + 0.04 * whim(landscape, before + word);
    before = word;
  }
  return spaces.predict_us(candidate) * std::exp(bend);
}

struct Search {
  std::vector<CandidateNumber> proposed;
  std::vector<double> best_us_after;  ///< each trial
  double best_us = 1e300;
};

using Judge = std::function<Observation(CandidateNumber)>;
using Kind = Observation::Kind;

Search search(const char* strategy, const FamilySpaces& spaces, std::uint64_t seed, const Judge& judge,
              const char* effort = "default", const std::vector<Lesson>& lessons = {}) {
  const auto searcher = make_strategy(strategy, {spaces, effort_named(effort).most_trials, seed, {}, lessons});
  Search search;
  for (auto candidates = searcher->propose(); !candidates.empty(); candidates = searcher->propose()) {
    for (const CandidateNumber candidate : candidates) {
      const Observation observation = judge(candidate);
      search.proposed.push_back(candidate);
      if (observation.kind == Kind::timed) search.best_us = std::min(search.best_us, observation.time_us);
      search.best_us_after.push_back(search.best_us);
      searcher->learn(candidate, observation);
    }
  }
  return search;
}

Judge timed(const FamilySpaces& spaces, std::uint64_t landscape) {
  return [&spaces, landscape](CandidateNumber candidate) {
    return Observation{Kind::timed, landscape_us(landscape, spaces, candidate)};
  };
}

double best_of_all(const FamilySpaces& spaces, std::uint64_t landscape) {
  double best = 1e300;
  for (const RankedCandidate& each : spaces.ranked(100000)) {
    best = std::min(best, landscape_us(landscape, spaces, each.number));
  }
  return best;
}

TEST(Guided, ComesCloseToTheBestOfALandscapeWithATwentiethOfTheTrials) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  double guided_gap = 0;
  double random_gap = 0;
  constexpr int kLandscapes = 12;
  for (std::uint64_t landscape = 1; landscape <= kLandscapes; ++landscape) {
    const double best = best_of_all(spaces, landscape);
    guided_gap += std::log(search("guided", spaces, landscape, timed(spaces, landscape)).best_us / best);
    random_gap += std::log(search("random", spaces, landscape, timed(spaces, landscape), "quick").best_us / best);
  }
  EXPECT_LT(guided_gap / kLandscapes, 0.02);
  EXPECT_LT(guided_gap, random_gap / 2);
}

TEST(Guided, EndsWithWhatIsLeftAroundTheBest) {
  const FamilySpaces spaces = spaces_of(fp32_square(1024), "");
  const Judge judge = [&](CandidateNumber number) {
    const Candidate candidate = spaces.candidate(number);
    return Observation{Kind::timed, spaces.predict_us(candidate) * std::exp(0.01 * whim(1, key_of(candidate)))};
  };
  const Search done = search("guided", spaces, 1, judge);
  const std::vector<CandidateNumber>& tried = done.proposed;
  std::set<CandidateNumber> around;
  for (const CandidateNumber candidate : tried) {
    if (judge(candidate).time_us > 1.01 * done.best_us) continue;
    const auto neighbours = spaces.neighbours(candidate);
    around.insert(neighbours.begin(), neighbours.end());
  }
  // The last sixth of all trials, less the rest of a round, a sixteenth of them, that may have begun before.
  const auto last = static_cast<std::ptrdiff_t>(tried.size() / 6 - tried.size() / 16);
  const auto beside = std::count_if(tried.end() - last, tried.end(),
                                    [&](CandidateNumber candidate) { return around.contains(candidate); });
  EXPECT_EQ(beside, last);
}

TEST(Guided, EndsEarlyWhereNothingMoreIsPromised) {
  const FamilySpaces spaces = spaces_of(fp32_square(1024), "LOAD=2 ORDER=1 PACK=0");
  const auto as_expected = [&](CandidateNumber number) {
    return Observation{Kind::timed, 1.1 * spaces.predict_us(spaces.candidate(number))};
  };
  const auto proposed = static_cast<int>(search("guided", spaces, 1, as_expected).proposed.size());
  const int most = effort_named("default").most_trials;
  EXPECT_GE(proposed, most / 3);
  EXPECT_LT(proposed, 4 * most / 5);
}

TEST(Guided, EndsSoonerWhereTheBestHasNoNeighbourThatMayBeAsFast) {
  const FamilySpaces spaces = spaces_of(fp32_square(1024), "LOAD=2 ORDER=1 PACK=0");
  const CandidateNumber best = spaces.ranked(1).front().number;
  const auto far_ahead = [&](CandidateNumber number) {
    return Observation{Kind::timed, (number == best ? 0.8 : 1.0) * spaces.predict_us(spaces.candidate(number))};
  };
  const auto proposed = static_cast<int>(search("guided", spaces, 1, far_ahead).proposed.size());
  const int most = effort_named("default").most_trials;
  EXPECT_GE(proposed, most / 3);
  EXPECT_LT(proposed, 2 * most / 5);
}

TEST(Guided, TriesAtMostATwentiethOfASmallSpace) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  const std::size_t all = spaces.ranked(100000).size();
  const Search done = search("guided", spaces, 1, timed(spaces, 1));
  EXPECT_LE(done.proposed.size(), std::max<std::size_t>(20, all / 20));
  EXPECT_EQ(std::set<CandidateNumber>(done.proposed.begin(), done.proposed.end()).size(), done.proposed.size())
      << "twice";
}

TEST(Guided, TriesNoMoreThanTheEffortAllows) {
  const FamilySpaces spaces = spaces_of(fp32_square(512), "LOAD=2");
  for (const char* effort : {"quick", "default"}) {
    const Search done = search("guided", spaces, 1, timed(spaces, 1), effort);
    EXPECT_LE(done.proposed.size(), static_cast<std::size_t>(effort_named(effort).most_trials));
    EXPECT_GE(done.proposed.size(), 20U);
  }
}

TEST(Guided, ASmallSpaceIsTriedEntirely) {
  const FamilySpaces spaces =
      spaces_of(fp32_square(2048), "BM=128 BN=128 BK=16 TM=8 TN=8 LANES_N=8 LOAD=2 STAGES=2 ORDER=1 PACK=0 SPLIT=1");
  const std::size_t all = spaces.ranked(100000).size();
  ASSERT_LE(all, 20U);
  EXPECT_EQ(search("guided", spaces, 1, timed(spaces, 1)).proposed.size(), all);
}

TEST(Guided, GivesUpNothingOfItsTrialsUnlessThrifty) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  ASSERT_LT(spaces.ranked(100000).size(), 20U * 170);
  StrategySetup setup{spaces, 170};
  setup.is_thrifty = false;
  setup.at_once = 3;
  const auto strategy = make_strategy("guided", setup);
  std::size_t proposed = strategy->propose().size();
  for (auto round = strategy->propose(); !round.empty(); round = strategy->propose()) {
    EXPECT_LE(round.size(), 3U);
    proposed += round.size();
  }
  EXPECT_EQ(proposed, 170U);
}

TEST(Guided, RepeatsItselfForASeedAndDiffersBetweenSeeds) {
  const FamilySpaces spaces = spaces_of(fp32_square(1024));
  const Search first = search("guided", spaces, 7, timed(spaces, 3));
  EXPECT_EQ(search("guided", spaces, 7, timed(spaces, 3)).proposed, first.proposed);
  EXPECT_NE(search("guided", spaces, 8, timed(spaces, 3)).proposed, first.proposed);
}

TEST(Guided, TurnsAwayFromWhatFails) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  const auto tile_of = [&](CandidateNumber number) { return *spaces.candidate(number).config.find("BN"); };
  const int bad = tile_of(spaces.ranked(1)[0].number);
  int right = 0;
  search("guided", spaces, 1, [&](CandidateNumber candidate) {
    if (tile_of(candidate) == bad) return Observation{};
    ++right;
    return timed(spaces, 1)(candidate);
  });
  EXPECT_GE(right, 15);
}

TEST(Guided, GoesOnWithoutLessons) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  const auto strategy = make_strategy("guided", {spaces, effort_named("quick").most_trials});
  std::size_t proposed = 0;
  for (auto candidates = strategy->propose(); !candidates.empty(); candidates = strategy->propose()) {
    proposed += candidates.size();
  }
  EXPECT_GE(proposed, 20U);
}

TEST(Guided, TriesFavouritesFirst) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  const CandidateNumber favourite = spaces.ranked(500)[400].number;
  const auto first = make_strategy("guided", {spaces, effort_named("quick").most_trials, 1, {favourite}})->propose();
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(first.front(), favourite);
}

TEST(Guided, WinnersElsewhereTakeTurnsWithWhatPromisesMost) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  const auto ranking = spaces.ranked(400);
  ASSERT_EQ(ranking.size(), 400U);
  std::vector<CandidateNumber> winners;  // the fastest last
  for (std::size_t i = 0; i < 30; ++i) winners.push_back(ranking[390 - 8 * i].number);
  const std::set<CandidateNumber> all(winners.begin(), winners.end());
  StrategySetup setup{spaces, effort_named("default").most_trials, 1, {winners[20]}, {}, winners};
  setup.is_thrifty = false;
  const auto first = make_strategy("guided", setup)->propose();
  ASSERT_EQ(first.size(), 24U);
  double before_us = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(all.contains(first[i]), i % 2 == 0) << i;
    if (i % 2 != 0) continue;
    const double time_us = spaces.predict_us(spaces.candidate(first[i]));
    EXPECT_GT(time_us, 0.97 * before_us) << i;  // Seeds differ about a candidate.
    before_us = time_us;
  }
}

TEST(Guided, WhatWonNearestComesFirstAndMoreOfItInLongCalls) {
  for (const auto& [n, count] : {std::pair{512, 2}, {2048, 3}}) {
    const FamilySpaces spaces = spaces_of(fp32_square(n));
    const auto ranking = spaces.ranked(100);
    ASSERT_EQ(ranking.size(), 100U);
    std::vector<CandidateNumber> winners;  // the fastest last
    for (std::size_t i = 0; i < 30; ++i) winners.push_back(ranking[45 - i].number);
    const auto first =
        make_strategy("guided", {spaces, effort_named("default").most_trials, 1, {}, {}, winners})->propose();
    ASSERT_GE(first.size(), 6U);
    const std::set<CandidateNumber> proposed{first[0], first[2], first[4]};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(proposed.contains(winners[i]), i < count) << n << ", " << i;
  }
}

TEST(Guided, WhatWonNearestComesFirstWhateverAnotherSizeTaught) {
  const FamilySpaces spaces = spaces_of(fp32_square(512));
  const auto ranking = spaces.ranked(20);
  const std::vector<CandidateNumber> winners{ranking[10].number, ranking[15].number};
  std::vector<Lesson> lessons;
  for (const RankedCandidate& each : ranking) {
    const bool has_won = std::find(winners.begin(), winners.end(), each.number) != winners.end();
    lessons.push_back({spaces.describe(each.number), (has_won ? 3 : 1) * each.expected_us});
  }
  const int most_trials = effort_named("default").most_trials;
  const auto first = make_strategy("guided", {spaces, most_trials, 1, {}, lessons, winners})->propose();
  ASSERT_GE(first.size(), 4U);
  EXPECT_EQ(first[0], winners[0]);
  EXPECT_EQ(first[2], winners[1]);
}

TEST(Guided, WhatIsAtHandComesFirstWhereItMayBeFast) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  const auto ranking = spaces.ranked(std::numeric_limits<std::size_t>::max());
  const auto slower = [&](double times) {
    return std::find_if(
               ranking.begin(), ranking.end(),
               [&](const RankedCandidate& each) { return each.expected_us > times * ranking.front().expected_us; })
        ->number;
  };
  StrategySetup setup{spaces, effort_named("default").most_trials};
  setup.is_thrifty = false;
  setup.at_hand = {slower(1.3), slower(1.1), slower(1.05)};
  const auto first = make_strategy("guided", setup)->propose();
  ASSERT_EQ(first.size(), 2 + 24U);
  EXPECT_EQ(first[0], setup.at_hand[2]);
  EXPECT_EQ(first[1], setup.at_hand[1]);
  EXPECT_EQ(std::count(first.begin(), first.end(), setup.at_hand[0]), 0);
}

TEST(Guided, WhatWonNearestComesBeforeWhatIsAtHand) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048));
  const auto ranking = spaces.ranked(60);
  ASSERT_EQ(ranking.size(), 60U);
  StrategySetup setup{spaces, effort_named("default").most_trials};
  setup.is_thrifty = false;
  for (std::size_t i = 0; i < 10; ++i) setup.at_hand.push_back(ranking[i].number);
  for (std::size_t i = 50; i < 60; ++i) setup.proven.push_back(ranking[i].number);
  const auto first = make_strategy("guided", setup)->propose();
  ASSERT_EQ(first.size(), 10 + 24U);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 3, setup.proven.begin()));
  for (std::size_t i = 3; i < 13; ++i) EXPECT_EQ(std::count(setup.at_hand.begin(), setup.at_hand.end(), first[i]), 1);
}

TEST(Guided, LeavesOutWhatIsProvenButExpectedToBeSlowHere) {
  const FamilySpaces spaces = spaces_of(fp32_square(2048), "");
  const auto ranking = spaces.ranked(std::numeric_limits<std::size_t>::max());
  const double shortest_us = ranking.front().expected_us;
  const auto slow = std::find_if(ranking.begin(), ranking.end(),
                                 [&](const RankedCandidate& each) { return each.expected_us > 2.5 * shortest_us; });
  ASSERT_NE(slow, ranking.end());
  const CandidateNumber close = ranking[1000].number;
  const int most_trials = effort_named("default").most_trials;
  const auto first = make_strategy("guided", {spaces, most_trials, 1, {}, {}, {slow->number, close}})->propose();
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(first.front(), close);
}

/// The fastest of a search in this landscape, as lessons.
std::vector<Lesson> lessons_of(const FamilySpaces& spaces, std::uint64_t landscape,
                               const std::vector<CandidateNumber>& proposed) {
  std::vector<Lesson> lessons;
  const std::set<CandidateNumber> tried(proposed.begin(), proposed.end());
  for (const RankedCandidate& each : spaces.ranked(100000)) {
    if (!tried.contains(each.number)) continue;
    lessons.push_back({spaces.describe(each.number), landscape_us(landscape, spaces, each.number)});
  }
  return fastest(std::move(lessons));
}

TEST(Guided, FindsTheBestSoonerAfterASimilarProblem) {
  const FamilySpaces before = spaces_of(fp32_square(2048));
  const FamilySpaces now = spaces_of(fp32_square(4096));
  double gap = 0;
  double taught_gap = 0;
  for (std::uint64_t landscape = 1; landscape <= 12; ++landscape) {
    const Search earlier = search("guided", before, 1, timed(before, landscape));
    const double best = best_of_all(now, landscape);
    const auto lessons = lessons_of(before, landscape, earlier.proposed);
    const auto untaught = search("guided", now, 1, timed(now, landscape));
    const auto taught = search("guided", now, 1, timed(now, landscape), "default", lessons);
    constexpr std::size_t kEarly = 7;
    gap += std::log(untaught.best_us_after[kEarly] / best);
    taught_gap += std::log(taught.best_us_after[kEarly] / best);
  }
  EXPECT_LT(taught_gap, 0.7 * gap);
}

}  // namespace
}  // namespace mmtune
