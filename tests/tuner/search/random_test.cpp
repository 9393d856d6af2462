// The strategy without preference: what a seed decides and what it does not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/family_spaces.h"

namespace mmtune {
namespace {

class RandomStrategy : public ::testing::Test {
 protected:
  static FamilySpaces spaces(const char* family, const char* restriction) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024);
    return FamilySpaces({&family_named(family)}, problem, catalog_gpu("h200"), parse_restriction(restriction));
  }

  static std::vector<CandidateNumber> draw(const FamilySpaces& spaces, std::uint64_t seed) {
    const auto strategy = make_strategy("random", {spaces, kMost, seed});
    const auto drawn = strategy->propose();
    for (const CandidateNumber each : drawn) EXPECT_EQ(spaces.number(spaces.candidate(each)), each) << each;
    EXPECT_TRUE(strategy->propose().empty()) << "all at once";
    return drawn;
  }

  static constexpr int kMost = 24;

  const FamilySpaces many_ = spaces("simt", "BM=64,128 BN=64,128 BK=16 TM=8 TN=8 LOAD=2 STAGES=2,3 UNROLL=16 SPLIT=1");
  const FamilySpaces few_ = spaces("tiled", "UNROLL=4,8");
};

TEST_F(RandomStrategy, ASeedDrawsTheSameAgain) { EXPECT_EQ(draw(many_, 3), draw(many_, 3)); }

TEST_F(RandomStrategy, AnotherSeedDrawsOthers) {
  std::set<std::vector<CandidateNumber>> different;
  for (std::uint64_t seed = 0; seed < 20; ++seed) different.insert(draw(many_, seed));
  EXPECT_EQ(different.size(), 20U);
}

TEST_F(RandomStrategy, NothingIsDrawnTwice) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto drawn = draw(many_, seed);
    EXPECT_EQ(drawn.size(), std::size_t{kMost});
    EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), drawn.size());
  }
}

TEST(Listed, ProposesAllInTheirOrderByRounds) {
  std::vector<CandidateNumber> listed(2500);
  std::iota(listed.begin(), listed.end(), 0);
  const auto strategy = make_listed(listed);
  std::vector<CandidateNumber> proposed;
  for (auto round = strategy->propose(); !round.empty(); round = strategy->propose()) {
    EXPECT_LE(round.size(), 1024U);
    proposed.insert(proposed.end(), round.begin(), round.end());
  }
  EXPECT_EQ(proposed, listed);
}

TEST_F(RandomStrategy, ASmallSpaceIsDrawnWhole) {
  const std::size_t size = few_.ranked(1000).size();
  ASSERT_GT(size, 1U);
  ASSERT_LT(size, std::size_t{kMost});
  const auto drawn = draw(few_, 1);
  EXPECT_EQ(drawn.size(), size);
  EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), size);
}

TEST_F(RandomStrategy, ThePredictionsDoNotMatter) {
  const auto ranking = many_.ranked(std::numeric_limits<std::size_t>::max());
  std::set<CandidateNumber> promising;
  for (std::size_t rank = 0; rank < ranking.size() / 2; ++rank) promising.insert(ranking[rank].number);
  std::size_t drawn = 0;
  std::size_t good = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const CandidateNumber each : draw(many_, seed)) {
      ++drawn;
      good += promising.contains(each) ? 1 : 0;
    }
  }
  // Half of them, give or take four standard deviations.
  EXPECT_NEAR(static_cast<double>(good), static_cast<double>(drawn) / 2, 2 * std::sqrt(drawn));
}

}  // namespace
}  // namespace mmtune
