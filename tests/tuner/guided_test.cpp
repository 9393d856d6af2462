// The default strategy on landscapes that were never measured: the analytic model's times, bent by errors that the
// strategy cannot know, as GPUs do it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "templates/families.h"
#include "templates/gpu_catalog.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/lessons.h"

namespace mmtune {
namespace {

constexpr const char* kRestriction =
    "BM=64,128 BN=64,128,256 BK=16,32 TM=8,16 TN=8,16 LANES_N=8 LOAD=2 STAGES=2,3 UNROLL=16 ORDER=1,2 GROUP=1,8 "
    "PACK=0,1 SPLIT=1";

Problem square(std::int64_t n) { return packed_problem(Precision::fp32, Layout::nn, n, n, n); }

Spaces spaces_of(const Problem& problem, const char* restriction = kRestriction) {
  return Spaces({&family_named("simt")}, problem, catalog_gpu("h200"), parse_restriction(restriction));
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
double landscape_us(std::uint64_t landscape, const Candidate& candidate) {
  double bend = 0.01 * whim(landscape, key_of(candidate));
  std::string before;
  for (const Setting& setting : candidate.config.settings()) {
    const std::string word = setting.name + std::to_string(setting.value);
    bend += 0.06 * whim(landscape, word) + 0.04 * whim(landscape, before + word);
    before = word;
  }
  return candidate.predicted_us * std::exp(bend);
}

struct Search {
  std::vector<std::string> proposed;
  std::vector<double> best_us_after;  ///< each trial
  double best_us = 1e300;
};

using Judge = std::function<Trial(const Candidate&)>;

Search search(const char* strategy, const Spaces& spaces, std::uint64_t seed, const Judge& judge,
              const char* effort = "default", const std::vector<Lesson>& lessons = {}) {
  const auto searcher = make_strategy(strategy, {spaces, effort_named(effort), seed, {}, lessons});
  Search search;
  for (auto candidates = searcher->propose(); !candidates.empty(); candidates = searcher->propose()) {
    for (const Candidate& candidate : candidates) {
      const Trial trial = judge(candidate);
      search.proposed.push_back(key_of(candidate));
      if (trial.outcome == Outcome::ok) search.best_us = std::min(search.best_us, trial.timing.median_us);
      search.best_us_after.push_back(search.best_us);
      searcher->learn(candidate, trial);
    }
  }
  return search;
}

Judge timed(const Spaces& spaces, std::uint64_t landscape) {
  return [&spaces, landscape](Candidate candidate) {
    candidate.predicted_us = spaces.predict_us(*candidate.family, candidate.config);
    Trial trial;
    trial.outcome = Outcome::ok;
    trial.timing.median_us = landscape_us(landscape, candidate);
    return trial;
  };
}

double best_of_all(const Spaces& spaces, std::uint64_t landscape) {
  const Ranking ranking = spaces.ranked(100000);
  double best = 1e300;
  for (std::size_t i = 0; i < ranking.size(); ++i) best = std::min(best, landscape_us(landscape, ranking[i]));
  return best;
}

TEST(Guided, ComesCloseToTheBestOfALandscapeWithATwentiethOfTheTrials) {
  const Spaces spaces = spaces_of(square(2048));
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
  const Spaces spaces = spaces_of(square(1024), "");
  const Judge judge = [&](const Candidate& candidate) {
    Trial trial;
    trial.outcome = Outcome::ok;
    trial.timing.median_us =
        spaces.predict_us(*candidate.family, candidate.config) * std::exp(0.01 * whim(1, key_of(candidate)));
    return trial;
  };
  std::vector<Candidate> tried;
  const Search done = search("guided", spaces, 1, [&](const Candidate& candidate) {
    tried.push_back(candidate);
    return judge(candidate);
  });
  std::set<std::string> around;
  for (const Candidate& candidate : tried) {
    if (judge(candidate).timing.median_us > 1.01 * done.best_us) continue;
    for (const Candidate& neighbour : spaces.neighbours(candidate)) around.insert(key_of(neighbour));
  }
  const auto last = static_cast<std::ptrdiff_t>(tried.size() / 8);
  const auto beside = std::count_if(tried.end() - last, tried.end(),
                                    [&](const Candidate& candidate) { return around.contains(key_of(candidate)); });
  EXPECT_EQ(beside, last);
}

TEST(Guided, TriesAtMostATwentiethOfASmallSpace) {
  const Spaces spaces = spaces_of(square(2048));
  const std::size_t all = spaces.ranked(100000).size();
  const Search done = search("guided", spaces, 1, timed(spaces, 1));
  EXPECT_LE(done.proposed.size(), std::max<std::size_t>(20, all / 20));
  EXPECT_EQ(std::set<std::string>(done.proposed.begin(), done.proposed.end()).size(), done.proposed.size()) << "twice";
}

TEST(Guided, TriesNoMoreThanTheEffortAllows) {
  const Spaces spaces = spaces_of(square(512), "LOAD=2");
  for (const char* effort : {"quick", "default"}) {
    const Search done = search("guided", spaces, 1, timed(spaces, 1), effort);
    EXPECT_LE(done.proposed.size(), static_cast<std::size_t>(effort_named(effort).most_trials));
    EXPECT_GE(done.proposed.size(), 20U);
  }
}

TEST(Guided, ASmallSpaceIsTriedEntirely) {
  const Spaces spaces =
      spaces_of(square(2048), "BM=128 BN=128 BK=16 TM=8 TN=8 LANES_N=8 LOAD=2 STAGES=2 ORDER=1 PACK=0 SPLIT=1");
  const std::size_t all = spaces.ranked(100000).size();
  ASSERT_LE(all, 20U);
  EXPECT_EQ(search("guided", spaces, 1, timed(spaces, 1)).proposed.size(), all);
}

TEST(Guided, RepeatsItselfForASeedAndDiffersBetweenSeeds) {
  const Spaces spaces = spaces_of(square(1024));
  const Search first = search("guided", spaces, 7, timed(spaces, 3));
  EXPECT_EQ(search("guided", spaces, 7, timed(spaces, 3)).proposed, first.proposed);
  EXPECT_NE(search("guided", spaces, 8, timed(spaces, 3)).proposed, first.proposed);
}

TEST(Guided, TurnsAwayFromWhatFails) {
  const Spaces spaces = spaces_of(square(2048));
  const Candidate favourite = spaces.ranked(1)[0];
  const int bad = *favourite.config.find("BN");
  int right = 0;
  search("guided", spaces, 1, [&](const Candidate& candidate) {
    Trial trial = timed(spaces, 1)(candidate);
    if (*candidate.config.find("BN") == bad) trial.outcome = Outcome::wrong_result;
    right += trial.outcome == Outcome::ok ? 1 : 0;
    return trial;
  });
  EXPECT_GE(right, 15);
}

TEST(Guided, GoesOnWithoutLessons) {
  const Spaces spaces = spaces_of(square(2048));
  const auto strategy = make_strategy("guided", {spaces, effort_named("quick"), 1, {}, {}});
  std::size_t proposed = 0;
  for (auto candidates = strategy->propose(); !candidates.empty(); candidates = strategy->propose())
    proposed += candidates.size();
  EXPECT_GE(proposed, 20U);
}

TEST(Guided, TriesFavouritesFirst) {
  const Spaces spaces = spaces_of(square(2048));
  const Candidate favourite = spaces.ranked(500)[400];
  const auto strategy = make_strategy("guided", {spaces, effort_named("quick"), 1, {favourite}, {}});
  const auto candidates = strategy->propose();
  ASSERT_FALSE(candidates.empty());
  EXPECT_EQ(key_of(candidates.front()), key_of(favourite));
}

TEST(Guided, TriesAFewOfWhatIsProvenThen) {
  const Spaces spaces = spaces_of(square(2048), "");
  const Ranking ranking = spaces.ranked(2000);
  const std::vector<Candidate> favourites{ranking[1000]};
  std::vector<Candidate> proven = favourites;
  for (std::size_t i = 0; i < 30; ++i) proven.push_back(ranking[1100 + 20 * i]);
  const auto first = make_strategy("guided", {spaces, effort_named("default"), 1, favourites, {}, proven})->propose();
  ASSERT_GT(first.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(key_of(first[i]), key_of(proven[i])) << i;
  EXPECT_NE(key_of(first[12]), key_of(proven[12])) << "more than half of the first round";
}

/// The fastest of a search in this landscape, as lessons.
std::vector<Lesson> lessons_of(const Spaces& spaces, std::uint64_t landscape,
                               const std::vector<std::string>& proposed) {
  std::vector<Lesson> lessons;
  const Ranking ranking = spaces.ranked(100000);
  const std::set<std::string> tried(proposed.begin(), proposed.end());
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const Candidate candidate = ranking[i];
    if (tried.count(key_of(candidate)) == 0) continue;
    lessons.push_back(
        {candidate, spaces.predict(*candidate.family, candidate.config), landscape_us(landscape, candidate)});
  }
  return fastest(std::move(lessons));
}

TEST(Guided, FindsTheBestSoonerAfterASimilarProblem) {
  const Spaces before = spaces_of(square(2048));
  const Spaces now = spaces_of(square(4096));
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
