// What the power limit does to calls that follow each other.
#include "templates/model/power.h"

#include <gtest/gtest.h>

#include <limits>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/correction.h"
#include "templates/model/cost.h"

namespace mmtune {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

Problem bf16(std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem(Precision::bf16, Layout::nn, m, n, k);
}

/// What a configuration is expected to take, by itself and under the limit.
struct Expected {
  Expected(const Problem& problem, std::string_view family_name, const std::string& text) {
    const DeviceSpec h200 = catalog_gpu("h200");
    const Family& family = family_named(family_name);
    const LaunchPlan plan = family.plan(problem, family.with_defaults(Config::parse(text), problem), h200);
    const PlanCost cost = cost_of(problem, plan, h200, 0);
    const auto time = [&](Power power, double limit_us) {
      return predict_us(problem, cost, plan.workspace.bytes(), h200, 1, power, limit_us);
    };
    single = predict(problem, cost, plan.workspace.bytes(), h200);
    if (has_correction(problem, cost, 1)) corrected = power_correction(correction_inputs(problem, cost, single));
    limited_us = time(Power::limited, kNoLimit).us;
    least_us = least_power_factor(h200) * mmtune::least_us(problem, cost, h200);
    bound = time(Power::limited, limited_us / 1.5);
  }
  double factor() const { return limited_us / single.time_us; }

  Prediction single;
  double corrected = 1;  ///< what trees say of it under the limit
  double limited_us;
  double least_us;
  TimeBound bound;  ///< with a limit that is less than the time
};

TEST(Power, HeavyCallsAreOfTensorCoresAndNotBoundByMemory) {
  EXPECT_TRUE(is_heavy(bf16(8080, 248, 2368), 20));
  EXPECT_FALSE(is_heavy(bf16(8080, 248, 2368), 9));
  EXPECT_FALSE(is_heavy(bf16(16, 8192, 8192), 40)) << "reads weights";
  EXPECT_FALSE(is_heavy(packed_problem(Precision::fp32, Layout::nn, 4096, 4096, 4096), 3000)) << "CUDA cores";
}

TEST(Power, IsLimitedFromFiveMicrosecondsOfThePeakOn) {
  const DeviceSpec h200 = catalog_gpu("h200");
  EXPECT_EQ(power_of(bf16(1024, 1024, 2048), h200), Power::ample) << "4 us";
  EXPECT_EQ(power_of(bf16(1024, 1024, 2560), h200), Power::limited) << "5.4 us";
  EXPECT_EQ(power_of(bf16(128, 65536, 1024), h200), Power::ample) << "bound by memory";
}

TEST(Power, WhatWaitsForMemoryLosesLess) {
  const DeviceSpec h200 = catalog_gpu("h200");
  std::array<double, kBottlenecks> shares{};
  const double of_nothing = power_factor(shares, h200);
  shares[static_cast<std::size_t>(Bottleneck::shared_memory)] = 1;
  const double of_shared = power_factor(shares, h200);
  shares = {};
  shares[static_cast<std::size_t>(Bottleneck::l2)] = shares[static_cast<std::size_t>(Bottleneck::memory)] = 0.5;
  const double of_memory = power_factor(shares, h200);
  EXPECT_GT(of_nothing, of_shared);
  EXPECT_GT(of_shared, of_memory);
  EXPECT_DOUBLE_EQ(kLeastOfTrees * of_memory, least_power_factor(h200));
  const Problem problem = bf16(4096, 4096, 4096);
  const Expected fetches_little(problem, "wgmma", "BM=128 BN=256 CONSUMERS=2 CLUSTER_M=2 CLUSTER_N=4");
  const Expected fetches_much(problem, "wgmma", "BM=128 BN=128 CONSUMERS=2");
  EXPECT_GT(fetches_little.factor(), 1.02 * fetches_much.factor());
}

// Raced on an H200: bench/results/nvidia-h200/rivals_bf16_nn.csv.xz.
TEST(Power, TreesKnowWhatTheSharesDoNot) {
  const DeviceSpec h200 = catalog_gpu("h200");
  const Problem problem = bf16(3048, 264, 7192);
  const Expected wide(problem, "wgmma", "BM=88 BN=128 CONSUMERS=1 CLUSTER_M=4 SWAP=1 GROUP=1");
  const Expected narrow(problem, "wgmma", "BM=128 BN=64 CONSUMERS=1 CLUSTER_M=4 GROUP=1");
  const auto by_shares = [&](const Expected& each) {
    return each.single.time_us * power_factor(each.single.shares, h200);
  };
  EXPECT_GT(by_shares(wide), by_shares(narrow));
  EXPECT_LT(1.04 * wide.limited_us, narrow.limited_us) << "they take 35.8 and 41.3 us";
}

// With the correction, beyond the sizes that have one, and of kernels whose operands the accelerator does not fetch.
TEST(Power, TheTimeIsThatOfASingleCallTimesTheFactor) {
  for (const auto& [problem, family] :
       {std::pair(bf16(4096, 4096, 4096), "wgmma"), std::pair(bf16(16384, 16384, 16384), "wgmma"),
        std::pair(bf16(4096, 4096, 4096), "mma_sync")}) {
    const Expected expected(problem, family, "BM=128 BN=128");
    const DeviceSpec h200 = catalog_gpu("h200");
    const double factor = std::string_view(family) == "wgmma" ? power_factor(expected.single.shares, h200) : 1;
    EXPECT_NEAR(expected.factor(), factor * expected.corrected, 1e-9) << family;
    EXPECT_EQ(expected.corrected != 1, problem.m < 16384 && family == std::string_view("wgmma"));
    EXPECT_LE(expected.least_us, expected.limited_us);
    EXPECT_GE(expected.bound.us, expected.limited_us / 1.5);
    EXPECT_LE(expected.bound.us, expected.limited_us * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace mmtune
