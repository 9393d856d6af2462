// What the model says of kernels that the tensor memory accelerator feeds.
#include <gtest/gtest.h>

#include <cmath>

#include "templates/gpu/gpu_catalog.h"
#include "tests/templates/model/plans.h"

namespace mmtune {
namespace {

using test::fp16_square;
using test::streamed_plan;
using test::time_us;

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

// An H200 takes 40.0 us (bench/results/nvidia-h200/tensor_vs_cublas.csv).
TEST(Cost, StoresOfShallowProductsAreTheirTime) {
  const Problem problem = packed_problem(Precision::fp16, Layout::nn, 8192, 8192, 64);
  LaunchPlan plan = streamed_plan(problem, 128, 256);
  const double waits = time_us(problem, plan);
  EXPECT_EQ(predict(problem, plan, catalog_gpu("h200"), 0).bottleneck(), Bottleneck::memory);
  EXPECT_NEAR(waits, 40, 3);
  plan.work.hides_stores = true;
  EXPECT_LT(time_us(problem, plan), waits);
}

TEST(Cost, ABlocksLastTileHasNoOtherBesideItsStore) {
  const auto hidden_us = [](std::int64_t rows_of_tiles) {
    const Problem problem = packed_problem(Precision::fp16, Layout::nn, rows_of_tiles * 128, 12 * 256, 128);
    LaunchPlan plan = streamed_plan(problem, 128, 256);
    const double waits = time_us(problem, plan);
    plan.work.hides_stores = true;
    return waits - time_us(problem, plan);
  };
  EXPECT_EQ(hidden_us(11), 0) << "132 tiles, one for each SM";
  EXPECT_GT(hidden_us(22), 0);
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

TEST(Cost, ThreeBlocksWithAnSmEachTakeThePlaceOfFour) {
  const auto time = [](int tiles) {
    const Problem problem = packed_problem(Precision::fp16, Layout::nn, 128, tiles * 128, 6144);
    LaunchPlan plan = streamed_plan(problem, 128, 128);
    plan.steps[0].cluster.x = plan.work.split_k = 3;
    plan.work.persistent = false;
    return time_us(problem, plan);
  };
  EXPECT_GT(time(40), 1.5 * time(30)) << "40 clusters are two waves";
}

TEST(Cost, FewStagesWaitForWhatComesLateWhileAllFetch) {
  const Problem problem = fp16_square(2048);
  LaunchPlan plan = streamed_plan(problem, 128, 64);
  const double many = time_us(problem, plan);
  plan.work.bytes_in_flight /= 4;  // fewer bytes than come in the time of an answer
  EXPECT_GT(time_us(problem, plan), 1.5 * many);
  plan.work.bytes_in_flight *= 8;
  EXPECT_GT(time_us(problem, plan), 0.95 * many);
}

TEST(Cost, EachTileIsTransposedWhileNothingElseIsMultiplied) {
  const auto transposing = [](std::int64_t waves, bool hides_stores) {
    const Problem problem = packed_problem(Precision::fp16, Layout::nn, 128 * 132, 128 * waves, 256);
    LaunchPlan plan = streamed_plan(problem, 128, 128);
    plan.work.hides_stores = hides_stores;
    const double straight = time_us(problem, plan);
    plan.work.turns_results = true;
    return time_us(problem, plan) - straight;
  };
  EXPECT_NEAR(transposing(4, false), 4 * transposing(1, false), 1e-6);
  EXPECT_NEAR(transposing(4, true), transposing(1, true), 1e-6);
}

TEST(Cost, RowsThatBeginBetweenLinesTakeLongerFromL2) {
  LaunchPlan plan = streamed_plan(fp16_square(4096), 128, 128);
  plan.work.in_place_a = plan.work.in_place_b = plan.work.bytes_per_k / 2;
  const Problem aligned = packed_problem(Precision::fp16, Layout::nn, 3000, 3008, 3008);
  const Problem straddling = packed_problem(Precision::fp16, Layout::nn, 3000, 3000, 3000);
  EXPECT_GT(time_us(straddling, plan), 1.1 * time_us(aligned, plan));
  const Problem of_a = packed_problem(Precision::fp16, Layout::nn, 3000, 3008, 3000);
  EXPECT_GT(time_us(of_a, plan), 1.02 * time_us(aligned, plan));
  plan.work.in_place_a = plan.work.in_place_b = 0;  // copies have rows of whole lines
  EXPECT_NEAR(time_us(of_a, plan), time_us(aligned, plan), 0.01 * time_us(aligned, plan));
}

// On an H100 a megabyte of results takes 0.08 us longer in rows that begin between sectors, 0.3 us in unaligned ones
// (docs/lab/2026-11-24-model.md#fitted-anew-to-covers).
TEST(Cost, ResultsInRowsThatBeginBetweenSectorsTakeLonger) {
  const auto us_for = [](std::int64_t n, int align) {
    Problem problem = packed_problem(Precision::bf16, Layout::nt, 8192, n, 64);
    problem.align.c = align;
    const LaunchPlan plan = streamed_plan(problem, 128, 256);
    return predict(problem, plan, catalog_gpu("h100"), 0).analytic_us;
  };
  const double megabytes = 2e-6 * 8192 * 8200;
  const double sectors = us_for(8208, 16);
  EXPECT_NEAR((us_for(8200, 16) - sectors) / megabytes, 0.1, 0.05);
  EXPECT_NEAR((us_for(8200, 2) - sectors) / megabytes, 0.25, 0.1);
}

TEST(Cost, SectorsThatLieInTwoCostMoreThanLinesThatDo) {
  LaunchPlan plan = streamed_plan(fp16_square(4096), 128, 128);
  plan.work.in_place_a = plan.work.in_place_b = plan.work.bytes_per_k / 2;
  const auto time = [&](std::int64_t n) {
    return time_us(packed_problem(Precision::fp16, Layout::nn, 3000, n, n), plan);
  };
  EXPECT_GT(time(3000) - time(3024), time(3024) - time(3040)) << "rows at multiples of 16, of 32 and of 64 bytes";
}

TEST(Cost, TheNextCallBeginsBesideAShortOne) {
  const Problem small = packed_problem(Precision::fp16, Layout::nn, 256, 256, 64);
  LaunchPlan plan = streamed_plan(small, 128, 128);
  const double alone = time_us(small, plan);
  plan.steps[0].smem_bytes /= 2;
  plan.work.bytes_in_flight /= 2;
  plan.work.registers = 80;
  EXPECT_LT(time_us(small, plan), alone - 0.2);
  const auto of_tiles = [&](std::int64_t rows, std::int64_t columns) {
    return time_us(packed_problem(Precision::fp16, Layout::nn, rows * 128, columns * 128, 64), plan);
  };
  EXPECT_GT(of_tiles(7, 19) - of_tiles(12, 11), 0.3) << "where the first blocks leave no place on one SM";
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
  EXPECT_GT(predict(problem, plan, slow, 0).analytic_us - predict(problem, plan, device, 0).analytic_us, 2 * stored_us);
}

TEST(Cost, NarrowBandsReadWhatL2DoesNotHoldAgain) {
  LaunchPlan plan = streamed_plan(fp16_square(4096), 128, 256);
  const auto time = [&](const Problem& problem, int group) {
    plan.work.group = group;
    return time_us(problem, plan);
  };
  const Problem wide = packed_problem(Precision::fp16, Layout::nn, 512, 51200, 5120);
  EXPECT_GT(time(wide, 1), 1.5 * time(wide, 4)) << "four rows of tiles read B four times";
  EXPECT_EQ(time(wide, 8), time(wide, 4));
  const Problem held = packed_problem(Precision::fp16, Layout::nn, 512, 2048, 4096);
  EXPECT_EQ(time(held, 8), time(held, 4));
  EXPECT_GT(time(held, 1), time(held, 4)) << "neighbours have no tile of B in common";
  EXPECT_LT(time(held, 1), 1.1 * time(held, 4));
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

}  // namespace
}  // namespace mmtune
