#include "templates/model/cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost_rates.h"
#include "tests/templates/model/plans.h"

namespace mmtune {
namespace {

using test::naive_plan;
using test::square;
using test::tiled_plan;
using test::time_us;

TEST(Cost, ProductsOfABatchRunSideBySide) {
  const DeviceSpec& device = catalog_gpu("h200");
  const Problem problem = square(64);
  const LaunchPlan whole = tiled_plan(problem, 64, 64, 8, 4), split = tiled_plan(problem, 32, 32, 4, 4, 4);
  const auto time = [&](const LaunchPlan& plan, std::int64_t products) {
    return predict(problem, plan, device, 0, products).time_us;
  };
  EXPECT_EQ(time(whole, 1), time_us(problem, whole));
  EXPECT_LT(time(whole, 132), 2 * time(whole, 1)) << "a product for each multiprocessor";
  EXPECT_GT(time(whole, 1 << 16), 20 * time(whole, 1 << 10));
  EXPECT_LT(time(split, 1), time(whole, 1)) << "alone, more blocks are faster";
  EXPECT_GT(time(split, 1 << 12), 1.5 * time(whole, 1 << 12)) << "many products have enough of them";
  const double bytes = minimal_bytes(problem) * (1 << 16);
  EXPECT_GT(time(whole, 1 << 16), bytes / device.memory_bandwidth_gb_s / 1e3);

  LaunchPlan resident = whole;
  resident.steps[0].resident = true;
  EXPECT_EQ(why_unbatched(resident), "its blocks wait for each other");
  EXPECT_EQ(time(resident, 100), 100 * time(resident, 1));
}

TEST(Cost, NeverBeatsTheHardware) {
  for (const auto& [key, gpu] : gpu_catalog()) {
    for (const std::int64_t n : {256, 1024, 4096}) {
      const Problem problem = square(n);
      const double time = predict(problem, tiled_plan(problem, 128, 128, 8, 8), gpu, 63).time_us;
      EXPECT_GT(time, flops(problem) / peak_tflops(gpu, Precision::fp32) / 1e6) << key << " " << n;
      EXPECT_GT(time, minimal_bytes(problem) / gpu.memory_bandwidth_gb_s / 1e3) << key << " " << n;
    }
  }
}

TEST(Cost, CountsTheUnitThatTheKernelUses) {
  const Problem problem = packed_problem(Precision::fp16, Layout::nn, 4096, 4096, 4096);
  LaunchPlan plan = tiled_plan(problem, 128, 128, 8, 8);
  const double cores = time_us(problem, plan);
  plan.work.unit = Unit::core_fp32;
  EXPECT_EQ(time_us(problem, plan), cores) << "the accumulator's, where none is named";
  plan.work.issue_slots_per_fma = 0.1;
  plan.work.unit = Unit::tensor_fp16;
  EXPECT_LT(time_us(problem, plan), cores);
  EXPECT_TRUE(std::isinf(time_us(problem, plan, "p100"))) << "which has no tensor cores";
}

TEST(Cost, AWarpsInstructionsReachLessOfHoppersTensorCores) {
  for (const Unit unit : {Unit::tensor_fp16, Unit::tensor_tf32, Unit::tensor_int8}) {
    EXPECT_LT(warp_fma_per_clock_per_sm(catalog_gpu("h200"), unit),
              0.7 * fma_per_clock_per_sm(catalog_gpu("h200"), unit));
    EXPECT_EQ(warp_fma_per_clock_per_sm(catalog_gpu("a100"), unit), fma_per_clock_per_sm(catalog_gpu("a100"), unit));
  }
  for (const Unit unit : {Unit::tensor_fp64, Unit::core_fp32}) {
    EXPECT_EQ(warp_fma_per_clock_per_sm(catalog_gpu("h200"), unit), fma_per_clock_per_sm(catalog_gpu("h200"), unit))
        << "which a warpgroup's do not multiply";
  }
  const Problem problem = packed_problem(Precision::fp16, Layout::nn, 4096, 4096, 4096);
  LaunchPlan plan = tiled_plan(problem, 128, 128, 8, 8);
  plan.work.unit = Unit::tensor_fp16;
  plan.work.issue_slots_per_fma = 0.01;
  const double by_warpgroups = time_us(problem, plan);
  plan.work.by_warps = true;
  EXPECT_GT(time_us(problem, plan), by_warpgroups);
}

// Times of an H200: bench/results/nvidia-h200/cover_five_minutes_bf16_nt_trials.csv.xz.
TEST(Cost, AWarpStoresResultsOf16BitsByHalvesOfASector) {
  const Family& family = family_named("mma_sync");
  const auto expected_us = [&](Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
    const Problem problem = packed_problem(precision, Layout::nt, m, n, k);
    const Config config = family.with_defaults(Config::parse("BM=32 BN=128 BK_BYTES=64 WM=32 WN=64 STAGES=4"), problem);
    const DeviceSpec device = catalog_gpu("h200");
    return predict(problem, family.plan(problem, config, device), device, 0).time_us;
  };
  EXPECT_NEAR(expected_us(Precision::bf16, 6840, 744, 48), 14, 2.5) << "6.2 where stores hide behind other blocks";
  EXPECT_NEAR(expected_us(Precision::bf16, 2480, 2936, 48), 18.3, 3.5);
  EXPECT_LT(expected_us(Precision::bf16_fp32, 6840, 744, 48), expected_us(Precision::bf16, 6840, 744, 48))
      << "results of 32 bits fill sectors";
}

TEST(Cost, ThreadsThatDoNotMeetWaitAtNoBarrier) {
  const Problem problem = square(1024);
  LaunchPlan plan = tiled_plan(problem, 64, 64, 8, 4);
  const auto barriers = [&](bool meets) {
    plan.work.meets = meets;
    return predict(problem, plan, catalog_gpu("h200"), 0).shares[static_cast<std::size_t>(Bottleneck::barriers)];
  };
  EXPECT_GT(barriers(true), 0);
  EXPECT_EQ(barriers(false), 0);
}

TEST(Cost, GrowsWithEveryExtent) {
  const auto time = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, m, n, k);
    return time_us(problem, tiled_plan(problem, 128, 128, 8, 8));
  };
  EXPECT_LT(time(4096, 4096, 4096), time(8192, 4096, 4096));
  EXPECT_LT(time(4096, 4096, 4096), time(4096, 8192, 4096));
  EXPECT_LT(time(4096, 4096, 4096), time(4096, 4096, 8192));
}

TEST(Cost, FasterGpusAreFaster) {
  const Problem problem = square(4096);
  const LaunchPlan plan = tiled_plan(problem, 128, 128, 8, 8);
  EXPECT_LT(time_us(problem, plan, "h200"), time_us(problem, plan, "a100"));
  EXPECT_LT(time_us(problem, plan, "a100"), time_us(problem, plan, "p100"));
  EXPECT_LT(time_us(problem, plan, "p100"), time_us(problem, plan, "k20c"));
}

TEST(Cost, NaiveKernelsRankFarBehind) {
  const Problem problem = square(4096);
  EXPECT_GT(time_us(problem, naive_plan(problem)), 4 * time_us(problem, tiled_plan(problem, 128, 256, 8, 16)));
}

TEST(Cost, LargeProblemsWantLargeTiles) {
  const Problem problem = square(4096);
  const double best = time_us(problem, tiled_plan(problem, 128, 256, 8, 16));
  EXPECT_LT(best, time_us(problem, tiled_plan(problem, 128, 128, 8, 8)));
  EXPECT_LT(best, time_us(problem, tiled_plan(problem, 64, 64, 8, 4)));
  EXPECT_LT(best, time_us(problem, tiled_plan(problem, 32, 32, 4, 4)));
}

TEST(Cost, SmallProblemsWantSmallTiles) {
  const Problem problem = square(512);
  EXPECT_LT(time_us(problem, tiled_plan(problem, 64, 64, 8, 4)),
            time_us(problem, tiled_plan(problem, 128, 256, 8, 16)));
}

TEST(Cost, SplittingPaysForDeepProductsOnly) {
  const Problem deep = packed_problem(Precision::fp32, Layout::nn, 128, 128, 65536);
  EXPECT_LT(time_us(deep, tiled_plan(deep, 64, 64, 8, 4, 16)), time_us(deep, tiled_plan(deep, 64, 64, 8, 4)));
  const Problem large = square(8192);
  EXPECT_GT(time_us(large, tiled_plan(large, 128, 128, 8, 8, 4)), time_us(large, tiled_plan(large, 128, 128, 8, 8)));
}

TEST(Cost, FurtherLaunchesCostLessThanTheFirst) {
  const Problem problem = square(64);
  LaunchPlan plan = tiled_plan(problem, 64, 64, 8, 4);
  const double one = time_us(problem, plan);
  plan.steps.push_back({.kernel = "more", .grid = {1, 1, 1}, .block = {32, 1, 1}, .smem_bytes = 0});
  const double two = time_us(problem, plan);
  EXPECT_GT(two, one + 0.5);
  EXPECT_LT(two, 2 * one);
}

TEST(Cost, ClustersPayForTheirSums) {
  const Problem problem = square(512);
  LaunchPlan plan = tiled_plan(problem, 64, 128, 8, 8, 4);
  plan.steps.pop_back();
  plan.workspace = {};
  const double alone = time_us(problem, plan);
  plan.steps[0].cluster.x = 4;
  EXPECT_GT(time_us(problem, plan), alone);
}

TEST(Cost, SharingALastWaveSavesWorkButNotItsEdges) {
  const Problem problem = square(1536);
  LaunchPlan plan = tiled_plan(problem, 128, 128, 8, 8);  // 144 tiles on 132 SMs
  const double whole = time_us(problem, plan);
  plan.work.shares_last_wave = true;
  EXPECT_LT(time_us(problem, plan), whole);
  const Problem few = packed_problem(Precision::fp32, Layout::nn, 128, 128, 64);
  plan.work.shares_last_wave = false;
  const double apart = time_us(few, plan);
  plan.work.shares_last_wave = true;
  EXPECT_GT(time_us(few, plan), apart / 2);
}

TEST(Cost, BlocksThatShareATileHandOverOneAfterTheOther) {
  const auto streamed_us = [](std::int64_t m, std::int64_t k) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, m, 64, k);
    LaunchPlan plan = tiled_plan(problem, 64, 64, 8, 8);
    plan.work.shares_last_wave = true;
    return time_us(problem, plan);
  };
  // There are as many multiply-adds in one tile as in a hundred.
  EXPECT_GT(streamed_us(64, 102'400), 5 * streamed_us(6400, 1024));
  EXPECT_LT(streamed_us(64, 102'400), 1000) << "345 to 440 us on an H200";
}

TEST(Cost, AClusterOfTwoLeavesNoSmOut) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 8192);
  LaunchPlan plan = tiled_plan(problem, 128, 128, 8, 8, 2);  // 128 blocks on 132 SMs
  plan.steps[0].smem_bytes = 200'000;                        // one per SM
  plan.steps[0].cluster.x = 2;
  EXPECT_LT(predict(problem, plan, catalog_gpu("h200"), 128).waves, 1);
  plan.steps[0].cluster.x = 4;
  EXPECT_GT(predict(problem, plan, catalog_gpu("h200"), 128).waves, 1) << "of 18 SMs of a GPC 16";
  for (const unsigned cluster : {4u, 8u}) {
    plan.steps[0].cluster.x = cluster;
    EXPECT_EQ(cost_of(problem, plan, catalog_gpu("h200"), 128).sm_count, 120);
  }
}

// Times of H200s: docs/lab/2026-11-28-untuned.md#clusters-of-three-and-six.
TEST(Cost, ClustersOfThreeOrSixLeaveMoreSmsOut) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 8192);
  LaunchPlan plan = tiled_plan(problem, 128, 128, 8, 8, 2);
  for (const unsigned smem_bytes : {200'000u, 100'000u}) {  // one block per SM, or two
    plan.steps[0].smem_bytes = smem_bytes;
    plan.steps[0].cluster.x = 3;
    EXPECT_EQ(cost_of(problem, plan, catalog_gpu("h200"), 64).sm_count, 39 * 3);
    plan.steps[0].cluster.x = 6;
    EXPECT_EQ(cost_of(problem, plan, catalog_gpu("h200"), 64).sm_count, 19 * 6);
  }
}

TEST(Cost, SharesAreWhatTheTimeIsMadeOf) {
  for (const std::int64_t n : {64, 1000, 8192}) {
    const Problem problem = square(n);
    const Prediction prediction = predict(problem, tiled_plan(problem, 64, 128, 8, 8, 4), catalog_gpu("h200"), 0);
    double sum = 0;
    for (const double share : prediction.shares) {
      EXPECT_GE(share, 0);
      sum += share;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
  }
}

TEST(Cost, WavesCountFilledGpus) {
  const Problem problem = square(4096);
  const LaunchPlan plan = tiled_plan(problem, 128, 256, 8, 16);
  EXPECT_DOUBLE_EQ(predict(problem, plan, catalog_gpu("h200"), 255).waves, 512.0 / 132);
  EXPECT_DOUBLE_EQ(predict(problem, plan, catalog_gpu("h200"), 128).waves, 512.0 / 132 / 2);
}

TEST(Cost, NamesTheBottleneck) {
  const auto bottleneck = [](const Problem& problem, const LaunchPlan& plan) {
    return predict(problem, plan, catalog_gpu("h200"), 0).bottleneck();
  };
  EXPECT_EQ(bottleneck(square(4096), tiled_plan(square(4096), 128, 256, 8, 16)), Bottleneck::arithmetic);
  EXPECT_EQ(bottleneck(square(4096), tiled_plan(square(4096), 64, 64, 4, 2)), Bottleneck::shared_memory);
  EXPECT_EQ(bottleneck(square(16), tiled_plan(square(16), 32, 32, 4, 4)), Bottleneck::launch);
}

TEST(Cost, WhatDoesNotFitTakesForever) {
  const Problem problem = square(4096);
  LaunchPlan plan = tiled_plan(problem, 128, 128, 8, 8);
  EXPECT_TRUE(std::isinf(predict(problem, plan, catalog_gpu("h200"), 256).time_us));
  plan.steps[0].smem_bytes = 1 << 20;
  EXPECT_TRUE(std::isinf(predict(problem, plan, catalog_gpu("h200"), 0).time_us));
}

TEST(Cost, DegenerateExtentsHaveFiniteTimes) {
  for (const Problem& problem : {packed_problem(Precision::fp32, Layout::nn, 0, 64, 64),
                                 packed_problem(Precision::fp32, Layout::nn, 64, 64, 0)}) {
    const double time = time_us(problem, tiled_plan(problem, 64, 64, 8, 4));
    EXPECT_TRUE(std::isfinite(time) && time >= 0) << to_string(problem);
  }
}

}  // namespace
}  // namespace mmtune
