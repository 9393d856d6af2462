#include "templates/model/cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost_rates.h"

namespace mmtune {
namespace {

/// A register-tiled fp32 kernel with bm x bn of C per block and tm x tn per thread.
LaunchPlan tiled_plan(const Problem& problem, int bm, int bn, int tm, int tn, int split = 1) {
  LaunchPlan plan;
  plan.work.tile_m = bm;
  plan.work.tile_n = bn;
  plan.work.tile_k = 16;
  plan.work.split_k = split;
  plan.work.registers = tm * tn + 2 * (tm + tn) + 40;
  plan.work.bytes_per_k = 4.0 * (bm + bn);
  plan.work.smem_bytes_per_fma = 4.0 * (tm + tn) / (tm * tn);
  plan.work.issue_slots_per_fma = 1 + (tm + tn) / 4.0 / (tm * tn);
  plan.work.bytes_in_flight = static_cast<int>(plan.work.bytes_per_k) * 16;
  LaunchStep step;
  step.block.x = bm / tm * (bn / tn);
  step.grid.x = (problem.m + bm - 1) / bm * ((problem.n + bn - 1) / bn) * split;
  step.smem_bytes = 2 * 16 * 4 * (bm + bn);
  plan.steps = {step};
  if (split > 1) {
    plan.workspace.add("partial sums", split * problem.m * problem.n * 4);
    plan.steps.push_back({.kernel = "reduce", .grid = {1024, 1, 1}, .block = {256, 1, 1}, .smem_bytes = 0});
  }
  return plan;
}

/// One element per thread, every operand from the cache.
LaunchPlan naive_plan(const Problem& problem) {
  LaunchPlan plan = tiled_plan(problem, 16, 16, 1, 1);
  plan.work.tile_k = 1;
  plan.work.issue_slots_per_fma = 3;
  plan.work.smem_bytes_per_fma = 8;
  plan.work.bytes_in_flight = 0;
  plan.steps[0].smem_bytes = 0;
  return plan;
}

Problem square(std::int64_t n) { return packed_problem(Precision::fp32, Layout::nn, n, n, n); }

double time_us(const Problem& problem, const LaunchPlan& plan, const char* gpu = "h200") {
  return predict(problem, plan, catalog_gpu(gpu), 0).time_us;
}

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

/// A plan as that of a kernel for the accelerator, one block per SM.
LaunchPlan streamed_plan(const Problem& problem, int bm, int bn) {
  LaunchPlan plan = tiled_plan(problem, bm, bn, 8, 8);
  plan.work.unit = traits(problem.precision).unit;
  plan.work.issue_slots_per_fma = 0.01;
  plan.work.tile_k = 64;
  plan.work.k_lanes = 64;
  plan.work.bytes_per_k = 2.0 * (bm + bn);
  plan.work.smem_bytes_per_fma = 0.04;
  plan.work.bytes_in_flight = 128 * 1024;
  plan.work.fetch = Fetch::accelerator;
  plan.work.persistent = true;
  plan.work.registers = 168;
  plan.steps[0].block.x = 384;
  plan.steps[0].smem_bytes = 200'000;
  return plan;
}

Problem fp16_square(std::int64_t n) { return packed_problem(Precision::fp16, Layout::nn, n, n, n); }

// On an H200 the fastest takes 1474 us where arithmetic alone would take 1028 (bench/results/nvidia-h200/
// tensor_trials.csv.xz).
TEST(Cost, WhatTheAcceleratorFeedsTakesAThirdMoreThanTheScarcest) {
  const Problem problem = fp16_square(8192);
  LaunchPlan plan = streamed_plan(problem, 128, 256);
  const double streamed = time_us(problem, plan);
  const double arithmetic_us = flops(problem) / peak_tflops(catalog_gpu("h200"), Unit::tensor_fp16) * 1e-6;
  EXPECT_GT(streamed, 1.25 * arithmetic_us);
  EXPECT_LT(streamed, 1.45 * arithmetic_us);
  plan.work.fetch = Fetch::loads;
  EXPECT_GT(time_us(problem, plan), 1.1 * streamed);
  plan.work.fetch = Fetch::accelerator;
  plan.work.smem_bytes_per_fma = 0.08;  // 1.3 times what an SM reads in the time of its multiply-adds
  EXPECT_GT(time_us(problem, plan), 1.15 * streamed);
  EXPECT_EQ(predict(problem, plan, catalog_gpu("h200"), 0).bottleneck(), Bottleneck::shared_memory);
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

TEST(Cost, StoresOfShallowProductsAreTheirTime) {
  const Problem problem = packed_problem(Precision::fp16, Layout::nn, 8192, 8192, 64);
  LaunchPlan plan = streamed_plan(problem, 128, 256);
  const double waits = time_us(problem, plan);
  EXPECT_EQ(predict(problem, plan, catalog_gpu("h200"), 0).bottleneck(), Bottleneck::memory);
  EXPECT_GT(waits, minimal_bytes(problem) / catalog_gpu("h200").memory_bandwidth_gb_s * 1e-3 / 0.7);
  plan.work.hides_stores = true;
  EXPECT_LT(time_us(problem, plan), waits);
}

TEST(Cost, BlocksThatShareOperandsHandOverNoSums) {
  const Problem problem = fp16_square(4096);
  LaunchPlan plan = streamed_plan(problem, 128, 256);
  const double alone = time_us(problem, plan);
  plan.steps[0].cluster.x = 2;
  plan.work.cluster_m = 2;
  const double sharing = time_us(problem, plan);
  EXPECT_NEAR(sharing, alone, 0.01 * alone) << "each SM still gets all of what it multiplies";
  plan.work.cluster_m = 1;
  EXPECT_GT(time_us(problem, plan), 1.02 * sharing);
}

TEST(Cost, ClustersThatReachBeyondCComputeNothingThere) {
  LaunchPlan plan = streamed_plan(fp16_square(2048), 128, 256);
  plan.steps[0].cluster.x = 4;
  plan.work.cluster_m = 4;
  const auto time = [&](std::int64_t tiles) {
    return time_us(packed_problem(Precision::fp16, Layout::nn, tiles * 128, 7 * 256, 2048), plan);
  };
  EXPECT_NEAR(time(16), time(13), 0.01 * time(16)) << "13 tiles take the clusters of 16";
  EXPECT_GT(time(17), 1.5 * time(16)) << "and more than are there at once";
}

TEST(Cost, RowsThatBeginBetweenLinesTakeLongerFromL2) {
  LaunchPlan plan = streamed_plan(fp16_square(4096), 128, 128);
  plan.work.in_place_a = plan.work.in_place_b = plan.work.bytes_per_k / 2;
  const Problem aligned = packed_problem(Precision::fp16, Layout::nn, 3000, 3008, 3008);
  const Problem straddling = packed_problem(Precision::fp16, Layout::nn, 3000, 3000, 3000);
  EXPECT_GT(time_us(straddling, plan), 1.1 * time_us(aligned, plan));
  plan.work.in_place_a = plan.work.in_place_b = 0;  // copies have rows of whole lines
  EXPECT_NEAR(time_us(straddling, plan), time_us(aligned, plan), 0.01 * time_us(aligned, plan));
}

TEST(Cost, RowsThatRarelyBeginWithALineTakeLongerUnlessAClusterAsksOnce) {
  LaunchPlan plan = streamed_plan(fp16_square(4096), 128, 128);
  plan.work.in_place_a = plan.work.in_place_b = plan.work.bytes_per_k / 2;
  const auto slower = [&] {
    const Problem often = packed_problem(Precision::fp16, Layout::nn, 3000, 3040, 3040);   // every second row
    const Problem rarely = packed_problem(Precision::fp16, Layout::nn, 3000, 3000, 3000);  // every eighth
    return time_us(rarely, plan) / time_us(often, plan);
  };
  const double alone = slower();
  EXPECT_GT(alone, 1.05);
  plan.steps[0].cluster.x = plan.work.cluster_m = 2;
  plan.work.bytes_per_k *= 0.75;
  plan.work.in_place_b /= 2;
  EXPECT_LT(slower(), alone);
}

TEST(Cost, MemoryStoresTheLastTilesToo) {
  const Problem problem = packed_problem(Precision::fp16, Layout::nn, 11 * 128, 12 * 256, 64);  // one wave
  const LaunchPlan plan = streamed_plan(problem, 128, 256);
  const DeviceSpec device = catalog_gpu("h200");
  DeviceSpec slow = device;
  slow.memory_bandwidth_gb_s /= 4;
  const double stored_us = 2.0 * 11 * 128 * 12 * 256 / device.memory_bandwidth_gb_s * 1e-3;
  EXPECT_GT(predict(problem, plan, slow, 0).time_us - predict(problem, plan, device, 0).time_us, 2 * stored_us);
}

TEST(Cost, NarrowBandsReadWhatL2DoesNotHoldAgain) {
  LaunchPlan plan = streamed_plan(fp16_square(4096), 128, 128);
  const auto time = [&](const Problem& problem, int group) {
    plan.work.group = group;
    return time_us(problem, plan);
  };
  const Problem wide = packed_problem(Precision::fp16, Layout::nn, 512, 51200, 5120);
  EXPECT_GT(time(wide, 1), 1.5 * time(wide, 4)) << "four rows of tiles read B four times";
  EXPECT_EQ(time(wide, 8), time(wide, 4));
  const Problem held = packed_problem(Precision::fp16, Layout::nn, 512, 2048, 4096);
  EXPECT_EQ(time(held, 1), time(held, 4));
}

TEST(Cost, PartsOfASumAreOfTheAccumulatorsType) {
  const Problem problem = packed_problem(Precision::fp16, Layout::nn, 256, 256, 16384);
  LaunchPlan plan = streamed_plan(problem, 64, 64);
  const auto result_bytes = [&](int split) {
    plan.work.split_k = split;
    return cost_of(problem, plan, catalog_gpu("h200"), 0).result_bytes;
  };
  EXPECT_EQ(result_bytes(8), 2 * result_bytes(1));
}

TEST(Cost, StreamedKernelsWithoutDepthHaveFiniteTimes) {
  const Problem problem = packed_problem(Precision::fp16, Layout::nn, 64, 64, 0);
  for (const Fetch fetch : {Fetch::copies, Fetch::accelerator}) {
    LaunchPlan plan = streamed_plan(problem, 64, 64);
    plan.work.fetch = fetch;
    const double time = time_us(problem, plan);
    EXPECT_TRUE(std::isfinite(time) && time >= 0);
  }
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
