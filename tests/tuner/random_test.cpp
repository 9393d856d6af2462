// The strategy without preference: what a seed decides and what it does not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "templates/families.h"
#include "templates/gpu_catalog.h"
#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

class RandomStrategy : public ::testing::Test {
 protected:
  static Spaces spaces(const char* family, const char* restriction) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024);
    return Spaces({&family_named(family)}, problem, catalog_gpu("h200"), parse_restriction(restriction));
  }

  static std::vector<std::string> draw(const Spaces& spaces, std::uint64_t seed) {
    const auto strategy = make_strategy("random", {spaces, effort_named("quick"), seed, {}, {}});
    std::vector<std::string> keys;
    for (const Candidate& candidate : strategy->propose()) {
      EXPECT_TRUE(spaces.contains(candidate)) << key_of(candidate);
      keys.push_back(key_of(candidate));
    }
    EXPECT_TRUE(strategy->propose().empty()) << "all at once";
    return keys;
  }

  const Spaces many_ = spaces("simt", "BM=64,128 BN=64,128 BK=16 TM=8 TN=8 LOAD=2 STAGES=2,3 UNROLL=16 SPLIT=1");
  const Spaces few_ = spaces("tiled", "UNROLL=4,8");
};

TEST_F(RandomStrategy, ASeedDrawsTheSameAgain) { EXPECT_EQ(draw(many_, 3), draw(many_, 3)); }

TEST_F(RandomStrategy, AnotherSeedDrawsOthers) {
  std::set<std::vector<std::string>> different;
  for (std::uint64_t seed = 0; seed < 20; ++seed) different.insert(draw(many_, seed));
  EXPECT_EQ(different.size(), 20U);
}

TEST_F(RandomStrategy, NothingIsDrawnTwice) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto keys = draw(many_, seed);
    EXPECT_EQ(keys.size(), static_cast<std::size_t>(effort_named("quick").most_trials));
    EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
  }
}

TEST_F(RandomStrategy, ASmallSpaceIsDrawnWhole) {
  const std::size_t size = few_.ranked(1000).size();
  ASSERT_GT(size, 1U);
  ASSERT_LT(size, static_cast<std::size_t>(effort_named("quick").most_trials));
  const auto keys = draw(few_, 1);
  EXPECT_EQ(keys.size(), size);
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), size);
}

TEST_F(RandomStrategy, ThePredictionsDoNotMatter) {
  const Ranking ranking = many_.ranked(std::numeric_limits<std::size_t>::max());
  std::set<std::string> promising;
  for (std::size_t rank = 0; rank < ranking.size() / 2; ++rank) promising.insert(key_of(ranking[rank]));
  std::size_t drawn = 0;
  std::size_t good = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const std::string& key : draw(many_, seed)) {
      ++drawn;
      good += promising.contains(key) ? 1 : 0;
    }
  }
  // Half of them, give or take four standard deviations.
  EXPECT_NEAR(static_cast<double>(good), static_cast<double>(drawn) / 2, 2 * std::sqrt(drawn));
}

}  // namespace
}  // namespace mmtune
