#include "runtime/learnt_times.h"

#include <gmock/gmock.h>

#include <cmath>

namespace mmtune {
namespace {

using testing::ElementsAre;

Problem fp32(std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem(Precision::fp32, Layout::nn, m, n, k);
}

TEST(LearntTimes, WithoutTimesTheModelStands) {
  const auto around = LearntTimes().around(fp32(64, 64, 64));
  EXPECT_EQ(around.factor(0), 1);
  EXPECT_GT(around.caution(0), 1);
  EXPECT_TRUE(around.promising().empty());
}

TEST(LearntTimes, OneTimeCorrectsTheModelForAllKernelsAndSizes) {
  const LearntTimes times({{0, fp32(512, 512, 512), 30, 20}});
  for (const auto& problem : {fp32(512, 512, 512), fp32(8192, 64, 300)}) {
    EXPECT_NEAR(times.around(problem).factor(0), 1.5, 1e-12);
    EXPECT_NEAR(times.around(problem).factor(7), 1.5, 1e-12) << "of a kernel that was not measured";
  }
}

TEST(LearntTimes, ErrorsOfNearSizesCountMost) {
  const LearntTimes times({{0, fp32(256, 256, 256), 20, 10}, {0, fp32(4096, 4096, 4096), 1000, 1000}});
  const double near_first = times.around(fp32(256, 256, 288)).factor(0);
  const double between = times.around(fp32(1024, 1024, 1024)).factor(0);
  const double near_second = times.around(fp32(4096, 4096, 3800)).factor(0);
  EXPECT_NEAR(near_first, 2, 0.02);
  EXPECT_NEAR(between, std::sqrt(2), 1e-9) << "half way on a logarithmic scale";
  EXPECT_NEAR(near_second, 1, 0.02);
}

TEST(LearntTimes, KernelsOfOneSizeHaveErrorsOfTheirOwn) {
  const LearntTimes times({{0, fp32(256, 256, 256), 20, 10}, {1, fp32(256, 256, 256), 10, 10}});
  const auto around = times.around(fp32(256, 256, 256));
  EXPECT_NEAR(around.factor(0), 2, 0.01);
  EXPECT_NEAR(around.factor(1), 1, 0.01);
}

TEST(LearntTimes, WhatIsFarAwayOrUnknownIsChosenWithCaution) {
  const LearntTimes times({{0, fp32(256, 256, 256), 20, 10}, {1, fp32(8192, 8192, 8192), 10, 10}});
  const auto around = times.around(fp32(256, 256, 256));
  EXPECT_LT(around.caution(0), 1.01);
  EXPECT_GT(around.caution(1), 1.4);
  EXPECT_GE(around.caution(2), around.caution(1));
}

TEST(LearntTimes, PromisingKernelsAreTheFastestOfNearSizes) {
  const LearntTimes times({{0, fp32(256, 256, 256), 20, 10},
                           {1, fp32(256, 256, 256), 11, 10},
                           {2, fp32(256, 256, 256), 10, 10},
                           {3, fp32(256, 256, 256), 50, 10},
                           {0, fp32(4096, 4096, 4096), 700, 700},
                           {1, fp32(4096, 4096, 4096), 2000, 700}});
  EXPECT_THAT(times.around(fp32(300, 256, 256)).promising(), ElementsAre(2, 1, 0)) << "3 takes five times as long";
  EXPECT_EQ(times.around(fp32(4096, 4000, 4096)).promising().front(), 0u);
}

}  // namespace
}  // namespace mmtune
