#include "tuner/cover/size_sample.h"

#include <gmock/gmock.h>
#include <mmtune/error.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace mmtune {
namespace {

using testing::ElementsAre;

TEST(SizeSample, StaysBetweenTheLimits) {
  const auto distribution = SizeDistribution::parse("50..8000x16..64x3..7");
  for (const auto& sizes : {distribution.spread(200, 1), distribution.draw(200, 1)}) {
    for (const auto& [size, precision, layout, weight] : sizes) {
      EXPECT_TRUE(size.m >= 50 && size.m <= 8000 && size.n >= 16 && size.n <= 64 && size.k >= 3 && size.k <= 7)
          << to_string(size);
    }
  }
}

std::vector<Size> multiples_of_8(const std::vector<WeightedSize>& sizes) {
  std::vector<Size> multiples;
  for (const auto& [size, precision, layout, weight] : sizes) {
    if (size.m % 8 == 0 && size.n % 8 == 0 && size.k % 8 == 0) multiples.push_back(size);
  }
  return multiples;
}

TEST(SizeSample, HalfOfTheSizesAreMultiplesOfEight) {
  const auto distribution = SizeDistribution::parse("48..8192");
  for (const auto& sizes : {distribution.draw(200, 1), distribution.spread(200, 1)}) {
    EXPECT_GE(multiples_of_8(sizes).size(), 100u);
    EXPECT_LE(multiples_of_8(sizes).size(), 110u) << "few others happen to be such";
  }
}

TEST(SizeSample, FewMultiplesOfEightReachAllPartsOfTheRange) {
  const auto distribution = SizeDistribution::parse("64..4096");
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    for (const auto extent : {&Size::m, &Size::n, &Size::k}) {
      std::array<int, 3> parts{};
      for (const Size& size : multiples_of_8(distribution.spread(32, seed))) {
        ++parts.at(std::min<std::size_t>(2, std::size_t(std::log2(size.*extent / 64.0) / 2)));
      }
      EXPECT_THAT(parts, testing::Each(testing::Ge(2))) << "seed " << seed;
    }
  }
}

TEST(SizeSample, OctavesAreEquallyLikely) {
  for (const bool spread : {true, false}) {
    const auto distribution = SizeDistribution::parse("64..4096");
    const auto sizes = spread ? distribution.spread(600, 3) : distribution.draw(600, 3);
    std::array<int, 6> octaves{};
    for (const WeightedSize& call : sizes) {
      ++octaves.at(std::min<std::size_t>(5, std::size_t(std::log2(call.size.n / 64.0))));
    }
    for (const int count : octaves) EXPECT_NEAR(count, 100, spread ? 25 : 40);
  }
}

TEST(SizeSample, SomeSizesLieOnTheFaces) {
  const auto sizes = SizeDistribution::parse("64..4096").spread(100, 3);
  const auto on_a_face = std::count_if(sizes.begin(), sizes.end(), [](const WeightedSize& call) {
    const Size& size = call.size;
    return std::min({size.m, size.n, size.k}) == 64 || std::max({size.m, size.n, size.k}) == 4096;
  });
  EXPECT_GE(on_a_face, 15);
  EXPECT_LE(on_a_face, 40);
}

TEST(SizeSample, MoreSizesBeginWithTheSameAndSeedsDiffer) {
  const auto distribution = SizeDistribution::parse("48..8192");
  const auto few = distribution.spread(20, 1);
  auto many = distribution.spread(50, 1);
  EXPECT_NE(distribution.spread(20, 2), few);
  EXPECT_NE(distribution.draw(20, 2), distribution.draw(20, 1));
  many.resize(20);
  EXPECT_EQ(many, few);
}

TEST(SizeSample, SmallRangesGiveEachSizeOnce) {
  const auto sizes = SizeDistribution::parse("2..3x5..5x7").spread(10, 1);
  EXPECT_EQ(sizes.size(), 2u);
}

TEST(SizeSample, FilesHaveWeights) {
  const auto path = std::filesystem::path(testing::TempDir()) / "mmtune_size_sample.csv";
  std::ofstream(path) << "64,64,64,1\n128,64,32,5.5\n8,8,8\n";
  const auto distribution = SizeDistribution::parse("@" + path.string());
  const WeightedSize heaviest{{128, 64, 32}, {}, {}, 5.5};
  EXPECT_THAT(distribution.spread(2, 1), ElementsAre(heaviest, WeightedSize{{64, 64, 64}}));
  EXPECT_EQ(distribution.spread(9, 1).size(), 3u);
  EXPECT_EQ(distribution.draw(3, 1).size(), 3u) << "each once, whatever it weighs";
  std::filesystem::remove(path);
}

TEST(SizeSample, ProductsOfNoFormatAreOfAll) {
  const std::vector<WeightedSize> calls{{{1, 2, 3}, {}, {}, 5}, {{4, 5, 6}, Precision::bf16, Layout::tt, 7}};
  const auto asked = asked_problems(calls, {Precision::fp32, Precision::fp64}, {Layout::nn});
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].problem, packed_problem(Precision::fp32, Layout::nn, 1, 2, 3));
  EXPECT_EQ(asked[0].weight, 5);
  EXPECT_EQ(asked[1].problem, packed_problem(Precision::bf16, Layout::tt, 4, 5, 6));
  EXPECT_EQ(asked[1].weight, 7);
  EXPECT_EQ(asked[2].problem, packed_problem(Precision::fp64, Layout::nn, 1, 2, 3));
}

TEST(SizeSample, WhatIsNoDistributionIsRefused) {
  for (const char* text :
       {"", "64", "64..", "..64", "64..32", "0..64", "1..9x1..9", "1..99999999999", "a..b", "@/no"}) {
    EXPECT_THROW(SizeDistribution::parse(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace mmtune
