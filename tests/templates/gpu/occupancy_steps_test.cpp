#include "templates/gpu/occupancy_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

/// Threads of a square block, and shared memory for so many square tiles of 4-byte elements.
BlockResources square(int tile, int tiles, int registers) {
  return {.threads = tile * tile, .registers = registers, .smem_bytes = std::int64_t{4} * tiles * tile * tile};
}

// S1: a thread with 11 variables, three tiles in shared memory, on a GeForce GT 740M.
TEST(SourceDocuments, OccupancyOfTheCoarsenedKernel) {
  const DeviceSpec& gpu = catalog_gpu("gt740m");
  const BlockResources small = square(16, 3, 11), large = square(32, 3, 11);
  EXPECT_EQ(small.smem_bytes, 3 * 1024);
  EXPECT_EQ(large.smem_bytes, 12 * 1024);
  for (const auto& [block, blocks] : {std::pair{small, 8}, {large, 2}}) {
    const Occupancy result = occupancy(gpu, block);
    EXPECT_EQ(result.blocks_per_sm, blocks);
    EXPECT_EQ(result.blocks_per_sm * block.threads, 2048);
    EXPECT_EQ(result.share, 1);
    EXPECT_EQ(result.limit, OccupancyLimit::none);
    EXPECT_EQ(result.tightest, OccupancyLimit::threads) << "2048 threads are what an SM holds";
    EXPECT_EQ(next_step(gpu, block), std::nullopt);
  }
  EXPECT_EQ(occupancy(gpu, small).allowed_by(OccupancyLimit::shared_memory), 16);
  EXPECT_EQ(occupancy(gpu, large).allowed_by(OccupancyLimit::shared_memory), 4);
}

TEST(SourceDocuments, ThreeTilesOf64FillSharedMemory) {
  const DeviceSpec& gpu = catalog_gpu("gt740m");
  BlockResources block = square(64, 3, 11);
  EXPECT_EQ(block.smem_bytes, 49'152);
  EXPECT_EQ(block.smem_bytes, gpu.smem_per_block_optin);
  EXPECT_EQ(occupancy(gpu, block).blocks_per_sm, 0) << "4096 threads are more than a block may have";
  EXPECT_EQ(occupancy(gpu, block).tightest, OccupancyLimit::threads);
  block.threads = 1024;
  EXPECT_EQ(occupancy(gpu, block).blocks_per_sm, 1);
  EXPECT_EQ(occupancy(gpu, block).limit, OccupancyLimit::shared_memory);
  EXPECT_EQ(to_string(next_step(gpu, block).value()), "24576 bytes of shared memory fewer: 2 blocks, 64 warps");
}

// S3: an SM that holds 1536 threads, 8 blocks and 16 KiB of shared memory; two tiles for each block.
TEST(SourceDocuments, OccupancyOfTheTiledKernel) {
  DeviceSpec sm = catalog_gpu("gt740m");
  sm.max_threads_per_sm = 1536;
  sm.max_blocks_per_sm = 8;
  sm.smem_per_sm = sm.smem_per_block = sm.smem_per_block_optin = 16 << 10;
  const Occupancy small = occupancy(sm, square(16, 2, 16));
  EXPECT_EQ(small.allowed_by(OccupancyLimit::threads), 6);
  EXPECT_EQ(small.allowed_by(OccupancyLimit::shared_memory), 8);
  EXPECT_EQ(small.blocks_per_sm, 6);
  EXPECT_EQ(small.tightest, OccupancyLimit::threads);
  const Occupancy large = occupancy(sm, square(32, 2, 16));
  EXPECT_EQ(large.allowed_by(OccupancyLimit::threads), 1);
  EXPECT_EQ(large.allowed_by(OccupancyLimit::shared_memory), 2);
  EXPECT_EQ(large.blocks_per_sm, 1);
  EXPECT_EQ(to_string(next_step(sm, square(32, 2, 16)).value()), "256 threads fewer: 2 blocks, 48 warps");
}

TEST(OccupancyStep, IsTheLeastThatHelps) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  const BlockResources wide{.threads = 256, .registers = 88, .smem_bytes = 1024};
  EXPECT_EQ(occupancy(gpu, wide).blocks_per_sm, 2);
  EXPECT_EQ(to_string(next_step(gpu, wide).value()), "8 registers fewer: 3 blocks, 24 warps");
  const BlockResources both{.threads = 256, .registers = 128, .smem_bytes = 113 << 10};
  const auto step = next_step(gpu, both).value();
  ASSERT_EQ(step.changes.size(), 2u);
  EXPECT_EQ(step.changes[0].to, 80);
  EXPECT_EQ(step.changes[1].to, 76 * 1024 - 1024);
  EXPECT_EQ(step.then.blocks_per_sm, 3);
  const BlockResources narrow{.threads = 32, .registers = 32, .smem_bytes = 0};
  EXPECT_EQ(to_string(next_step(gpu, narrow).value()), "32 threads more: 32 blocks, 64 warps");
}

TEST(OccupancyStep, OneUnitLessChangesNothing) {
  for (const auto& [key, gpu] : gpu_catalog()) {
    for (int threads = 64; threads <= 1024; threads += 96) {
      for (const int registers : {30, 61, 100, 200}) {
        const BlockResources block{threads, registers, 9000};
        const auto step = next_step(gpu, block);
        if (!step || step->changes.size() != 1 || step->changes[0].resource != OccupancyLimit::registers) continue;
        BlockResources almost = block;
        almost.registers = static_cast<int>(step->changes[0].to) + 1;
        EXPECT_LE(occupancy(gpu, almost).warps_per_sm, occupancy(gpu, block).warps_per_sm) << key;
        almost.registers -= 1;
        EXPECT_GT(occupancy(gpu, almost).warps_per_sm, occupancy(gpu, block).warps_per_sm) << key;
      }
    }
  }
}

TEST(OccupancyStep, ABlockThatDoesNotFitIsToldWhatWould) {
  const DeviceSpec& gpu = catalog_gpu("t4");
  const auto step = next_step(gpu, {.threads = 1024, .registers = 100, .smem_bytes = 80 << 10}).value();
  EXPECT_EQ(step.then.blocks_per_sm, 1);
  EXPECT_EQ(to_string(step), "36 registers fewer and 16384 bytes of shared memory fewer: 1 block, 32 warps");
}

TEST(OccupancyCurve, GoesThroughTheBlockItself) {
  const DeviceSpec& gpu = catalog_gpu("a100");
  const BlockResources block{.threads = 256, .registers = 96, .smem_bytes = 48 << 10};
  const auto at = [&](OccupancyLimit varied, std::int64_t amount) {
    const auto curve = occupancy_curve(gpu, block, varied);
    return std::find_if(curve.begin(), curve.end(), [&](const auto& point) { return point.amount == amount; })
        ->warps_per_sm;
  };
  const int warps = occupancy(gpu, block).warps_per_sm;
  EXPECT_EQ(at(OccupancyLimit::threads, 256), warps);
  EXPECT_EQ(at(OccupancyLimit::registers, 96), warps);
  EXPECT_EQ(at(OccupancyLimit::shared_memory, 48 << 10), warps);
  EXPECT_EQ(occupancy_curve(gpu, block, OccupancyLimit::registers).size(), 255u);
  EXPECT_EQ(occupancy_curve(gpu, block, OccupancyLimit::threads).size(), 32u);
  EXPECT_EQ(occupancy_curve(gpu, block, OccupancyLimit::shared_memory).back().amount, gpu.smem_per_block_optin);
}

TEST(OccupancyWaves, CountTheEmptyPlacesOfTheLast) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  const Occupancy two = occupancy(gpu, {.threads = 256, .registers = 128, .smem_bytes = 0});
  ASSERT_EQ(two.blocks_per_sm, 2);
  const Waves waves = waves_of(gpu, two, 264 * 3 + 66);
  EXPECT_DOUBLE_EQ(waves.waves, 3.25);
  EXPECT_DOUBLE_EQ(waves.tail, 0.75);
  EXPECT_DOUBLE_EQ(waves_of(gpu, two, 264).tail, 0);
  EXPECT_TRUE(std::isinf(waves_of(gpu, {}, 1).waves));
}

}  // namespace
}  // namespace mmtune
