#include "runtime/choose/measured_times.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "runtime/choose/nearest.h"
#include "tests/runtime/stored_kernels.h"

namespace mmtune {
namespace {

using test::fp32;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

std::vector<std::uint32_t> promising(const MeasuredTimes::Around& around, std::size_t most) {
  return around.promising(most, [](std::uint32_t) { return true; });
}

TEST(MeasuredTimes, WithoutTimesTheModelStands) {
  const auto around = MeasuredTimes().around(fp32(64, 64, 64));
  EXPECT_EQ(around.factor(0), 1);
  EXPECT_GT(around.caution(0), 1);
  EXPECT_TRUE(promising(around, 9).empty());
}

TEST(MeasuredTimes, OneTimeCorrectsTheModelForAllKernelsAndSizes) {
  const MeasuredTimes times({{0, fp32(512, 512, 512), 30, 20}});
  for (const auto& problem : {fp32(512, 512, 512), fp32(8192, 64, 300)}) {
    EXPECT_NEAR(times.around(problem).factor(0), 1.5, 1e-12);
    EXPECT_NEAR(times.around(problem).factor(7), 1.5, 1e-12) << "of a kernel that was not measured";
  }
}

TEST(MeasuredTimes, ErrorsOfNearSizesCountMost) {
  const MeasuredTimes times({{0, fp32(256, 256, 256), 20, 10}, {0, fp32(4096, 4096, 4096), 1000, 1000}});
  const double near_first = times.around(fp32(256, 256, 288)).factor(0);
  const double between = times.around(fp32(1024, 1024, 1024)).factor(0);
  const double near_second = times.around(fp32(4096, 4096, 3800)).factor(0);
  EXPECT_NEAR(near_first, 2, 0.02);
  EXPECT_NEAR(between, std::sqrt(2), 1e-9) << "half way on a logarithmic scale";
  EXPECT_NEAR(near_second, 1, 0.02);
}

TEST(MeasuredTimes, ErrorsAtSizesThatAreAlignedAlikeCountMost) {
  const MeasuredTimes times({{0, fp32(512, 512, 512), 20, 10}, {0, fp32(510, 510, 510), 10, 10}});
  EXPECT_NEAR(times.around(fp32(480, 480, 480)).factor(0), 2, 0.02);
  EXPECT_NEAR(times.around(fp32(481, 481, 481)).factor(0), 1, 0.02);
}

TEST(MeasuredTimes, ErrorsOfTensorCoresAtSizesWhoseRowsBeginAlikeInLinesCountMost) {
  const auto factor_at = [](Precision precision, std::int64_t extent) {
    const auto cube = [&](std::int64_t edge) { return packed_problem(precision, Layout::nn, edge, edge, edge); };
    const MeasuredTimes times({{0, cube(1024), 20, 10}, {0, cube(1032), 10, 10}});
    return times.around(cube(extent)).factor(0);
  };
  EXPECT_NEAR(factor_at(Precision::bf16, 1048), 1, 0.02) << "an odd multiple of 16 bytes";
  EXPECT_NEAR(factor_at(Precision::bf16, 960), 2, 0.1) << "whole lines";
  EXPECT_NEAR(factor_at(Precision::fp32, 1048), std::sqrt(2), 0.1) << "of CUDA cores both count";
}

TEST(MeasuredTimes, KernelsOfOneSizeHaveErrorsOfTheirOwn) {
  const MeasuredTimes times({{0, fp32(256, 256, 256), 20, 10}, {1, fp32(256, 256, 256), 10, 10}});
  const auto around = times.around(fp32(256, 256, 256));
  EXPECT_NEAR(around.factor(0), 2, 0.01);
  EXPECT_NEAR(around.factor(1), 1, 0.01);
}

TEST(MeasuredTimes, OnTensorCoresWhatKernelsHaveInCommonCountsForMore) {
  const auto factor = [](Precision precision) {
    const auto at = [&](std::int64_t extent) { return packed_problem(precision, Layout::nn, extent, extent, extent); };
    const MeasuredTimes times({{0, at(1024), 20, 10}, {1, at(1024), 10, 10}});
    return times.around(at(512)).factor(0);
  };
  EXPECT_LT(factor(Precision::bf16), factor(Precision::fp32));
  EXPECT_GT(factor(Precision::bf16), std::sqrt(2)) << "the mean of both";
}

TEST(MeasuredTimes, AKernelThatDiffersMuchKeepsItsOwnError) {
  const auto kept = [](double ratio) {
    const auto at = [](std::int64_t extent) {
      return packed_problem(Precision::bf16, Layout::nn, extent, extent, extent);
    };
    std::vector<KernelTime> times{{0, at(1024), 10 * ratio, 10}};
    for (std::uint32_t other = 1; other < 10; ++other) times.push_back({other, at(1024), 10, 10});
    return std::log(MeasuredTimes(times).around(at(960)).factor(0)) / std::log(ratio);
  };
  EXPECT_LT(kept(1.05), 0.6) << "it may be noise";
  EXPECT_GT(kept(2), 0.9);
}

TEST(MeasuredTimes, WhatIsFarAwayOrUnknownIsChosenWithCaution) {
  const MeasuredTimes times({{0, fp32(256, 256, 256), 20, 10}, {1, fp32(8192, 8192, 8192), 10, 10}});
  const auto around = times.around(fp32(256, 256, 256));
  EXPECT_LT(around.caution(0), 1.01);
  EXPECT_GT(around.caution(1), 1.05);
  EXPECT_GE(around.caution(2), around.caution(1));
}

TEST(MeasuredTimes, PromisingKernelsAreTheFastestOfNearSizes) {
  const MeasuredTimes times({{0, fp32(256, 256, 256), 20, 10},
                             {1, fp32(256, 256, 256), 11, 10},
                             {2, fp32(256, 256, 256), 10, 10},
                             {3, fp32(256, 256, 256), 50, 10},
                             {0, fp32(4096, 4096, 4096), 700, 700},
                             {1, fp32(4096, 4096, 4096), 2000, 700}});
  const auto around = times.around(fp32(300, 256, 256));
  EXPECT_THAT(promising(around, 1), UnorderedElementsAre(2));
  EXPECT_THAT(promising(around, 2), UnorderedElementsAre(2, 1));
  EXPECT_THAT(promising(around, 9), UnorderedElementsAre(2, 1, 0)) << "3 takes five times as long";
  EXPECT_THAT(around.promising(2, [](std::uint32_t kernel) { return kernel != 2; }), UnorderedElementsAre(1, 0));
  EXPECT_THAT(promising(times.around(fp32(4096, 4000, 4096)), 1), UnorderedElementsAre(0));
}

/// What measured_times.h says, by the formula over sizes sorted by distance.
struct Plain {
  double factor;
  double caution;
};
Plain plain(const std::vector<KernelTime>& times, const Problem& problem, std::uint32_t kernel) {
  const Octaves at = octaves_of(problem);
  const auto unaligned = [](const Alignment& align) { return (align.a < 16) + (align.b < 16) + (align.c < 16); };
  std::vector<std::pair<double, const KernelTime*>> near;
  for (const KernelTime& time : times) {
    double squares = std::pow(2 * (unaligned(problem.align) - unaligned(time.problem.align)), 2);
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      squares += std::pow((at[axis] - octaves_of(time.problem)[axis]) / 2, 2);
    }
    near.emplace_back(squares, &time);
  }
  std::sort(near.begin(), near.end());
  near.resize(std::min<std::size_t>(24, near.size()));
  double weights = 0;
  double common = 0;
  double weight_of_kernel = 0;
  double error_of_kernel = 0;
  for (const auto& [squares, time] : near) {
    const double weight = 1 / std::pow(0.05 + squares, 2);
    const double error = std::log(time->median_us / time->model_us);
    weights += weight;
    common += weight * error;
    if (time->kernel != kernel) continue;
    weight_of_kernel += weight;
    error_of_kernel += weight * error;
  }
  return {std::exp((error_of_kernel + 4 * common / weights) / (weight_of_kernel + 4)),
          std::exp(0.05 / (1 + weight_of_kernel))};
}

TEST(MeasuredTimes, AreWhatLookingAtAllSizesSays) {
  std::mt19937 random(3);
  const auto extent = [&] { return static_cast<std::int64_t>(8 << random() % 9) + static_cast<int>(random() % 64); };
  for (const std::size_t count : {1, 24, 25, 500}) {
    std::vector<KernelTime> times;
    for (std::uint32_t i = 0; i < count; ++i) {
      times.push_back({i % 7, fp32(extent(), extent(), extent()), 10. + random() % 10, 10});
    }
    const MeasuredTimes learnt(times);
    for (int round = 0; round < 100; ++round) {
      const Problem problem = round == 0 ? fp32(1, 1, 1 << 24) : fp32(extent(), extent(), extent());
      const auto around = learnt.around(problem);
      const auto kernel = static_cast<std::uint32_t>(random() % 8);
      const Plain expected = plain(times, problem, kernel);
      EXPECT_NEAR(around.factor(kernel), expected.factor, 1e-9) << to_string(problem) << " of " << count;
      EXPECT_NEAR(around.caution(kernel), expected.caution, 1e-9) << to_string(problem) << " of " << count;
    }
  }
}

TEST(MeasuredTimes, AsManyAsAreAskedForAreThoseThatGainMost) {
  std::mt19937 random(4);
  const auto extent = [&] { return static_cast<std::int64_t>(16 << random() % 8); };
  std::vector<KernelTime> times;
  for (std::uint32_t size = 0; size < 40; ++size) {
    const Problem problem = fp32(extent(), extent(), extent());
    for (std::uint32_t kernel = 0; kernel < 60; kernel += 2 + 2 * (random() % 4)) {
      const double median_us = 10 + static_cast<double>(random() % 8);
      for (const std::uint32_t twin : {kernel, kernel + 1}) times.push_back({twin, problem, median_us, 10});
    }
  }
  const MeasuredTimes learnt(times);
  for (int round = 0; round < 20; ++round) {
    const auto around = learnt.around(fp32(extent(), extent(), extent()));
    // One by one: the best of those that are left.
    std::vector<std::uint32_t> best;
    const auto is_left = [&](std::uint32_t kernel) {
      return std::find(best.begin(), best.end(), kernel) == best.end();
    };
    while (true) {
      EXPECT_THAT(promising(around, best.size()), UnorderedElementsAreArray(best));
      const auto next = around.promising(1, is_left);
      if (next.empty()) break;
      best.push_back(next.front());
    }
    EXPECT_GT(best.size(), 20u);
    for (std::size_t i = 0; i < best.size(); i += 2) EXPECT_EQ(best[i] + 1, best[i + 1]) << "of equal ones the first";
  }
}

}  // namespace
}  // namespace mmtune
