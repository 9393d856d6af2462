#include "tuner/race/ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace mmtune {
namespace {

/// The ratios 1, 2, …, n in an order that is not sorted.
Ratio ratio_of_first(int n) {
  std::vector<double> theirs(static_cast<std::size_t>(n)), ours(theirs.size(), 1.0);
  std::iota(theirs.begin(), theirs.end(), 1.0);
  std::rotate(theirs.begin(), theirs.begin() + n / 3, theirs.end());
  return ratio_of(theirs, ours);
}

TEST(Ratio, IntervalIsThatOfOrderStatistics) {
  // The ranks are those of the tables of the sign test.
  const Ratio of_15 = ratio_of_first(15);
  EXPECT_EQ(of_15.median, 8);
  EXPECT_EQ(of_15.low, 4);
  EXPECT_EQ(of_15.high, 12);
  const Ratio of_20 = ratio_of_first(20);
  EXPECT_EQ(of_20.median, 10.5);
  EXPECT_EQ(of_20.low, 6);
  EXPECT_EQ(of_20.high, 15);
  const Ratio of_1000 = ratio_of_first(1000);
  EXPECT_EQ(of_1000.low, 469);
  EXPECT_EQ(of_1000.high, 532);
}

TEST(Ratio, FewRatiosGiveTheirRange) {
  const Ratio of_5 = ratio_of_first(5);
  EXPECT_EQ(of_5.low, 1);
  EXPECT_EQ(of_5.high, 5);
  const Ratio of_1 = ratio_of_first(1);
  EXPECT_EQ(of_1.low, 1);
  EXPECT_EQ(of_1.high, 1);
}

TEST(Ratio, PairsTimesOfTheSameRound) {
  const std::vector<double> theirs{2, 20, 200}, ours{1, 10, 100};
  const Ratio ratio = ratio_of(theirs, ours);
  EXPECT_EQ(ratio.low, 2);
  EXPECT_EQ(ratio.high, 2);
}

TEST(Ratio, RanksAreThoseOfTheBinomialDistribution) {
  EXPECT_EQ(interval_rank(12, 0.0002), 0U);   // 2^-12 = 0.000244
  EXPECT_EQ(interval_rank(12, 0.00025), 1U);  // the rank of 0 heads
  EXPECT_EQ(interval_rank(12, 0.004), 2U);    // the rank of at most 1 head: 13 / 4096 = 0.00317
  EXPECT_EQ(interval_rank(0, 0.5), 0U);
}

TEST(Ratio, SmallerTailsGiveWiderIntervals) {
  const Ratio usual = ratio_of_first(60);
  std::vector<double> theirs(60), ours(60, 1.0);
  std::iota(theirs.begin(), theirs.end(), 1.0);
  const Ratio careful = ratio_of(theirs, ours, 0.0004);
  EXPECT_LT(careful.low, usual.low);
  EXPECT_GT(careful.high, usual.high);
  EXPECT_EQ(careful.median, usual.median);
}

}  // namespace
}  // namespace mmtune
