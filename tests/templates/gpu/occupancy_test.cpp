#include "templates/gpu/occupancy.h"

#include <gtest/gtest.h>

#include <climits>

#include "templates/gpu/architectures.h"
#include "templates/gpu/gpu_catalog.h"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define MMTUNE_HAS_CUDA_OCCUPANCY 1
#else
#define MMTUNE_HAS_CUDA_OCCUPANCY 0
#endif

namespace mmtune {
namespace {

TEST(Occupancy, NamesWhatBindsFirst) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  const Occupancy registers = occupancy(gpu, {.threads = 256, .registers = 255, .smem_bytes = 0});
  EXPECT_EQ(registers.blocks_per_sm, 1);
  EXPECT_EQ(registers.warps_per_sm, 8);
  EXPECT_DOUBLE_EQ(registers.share, 0.125);
  EXPECT_EQ(registers.limit, OccupancyLimit::registers);
  EXPECT_EQ(occupancy(gpu, {.threads = 128, .registers = 32, .smem_bytes = 100 << 10}).limit,
            OccupancyLimit::shared_memory);
  EXPECT_EQ(occupancy(gpu, {.threads = 32, .registers = 32, .smem_bytes = 0}).limit, OccupancyLimit::blocks);
  EXPECT_EQ(occupancy(gpu, {.threads = 96, .registers = 16, .smem_bytes = 0}).limit, OccupancyLimit::threads);
  EXPECT_EQ(occupancy(gpu, {.threads = 256, .registers = 32, .smem_bytes = 0}).limit, OccupancyLimit::none);
}

TEST(Occupancy, TheSystemsShareCounts) {
  // Two blocks of 113 KiB and 1 KiB each fill 228 KiB.
  const DeviceSpec& gpu = catalog_gpu("h200");
  EXPECT_EQ(occupancy(gpu, {.threads = 128, .registers = 32, .smem_bytes = 113 << 10}).blocks_per_sm, 2);
  EXPECT_EQ(occupancy(gpu, {.threads = 128, .registers = 32, .smem_bytes = (113 << 10) + 1}).blocks_per_sm, 1);
  EXPECT_EQ(occupancy(gpu, {.threads = 128, .registers = 32, .smem_bytes = 227 << 10}).blocks_per_sm, 1);
  EXPECT_EQ(occupancy(gpu, {.threads = 128, .registers = 32, .smem_bytes = (227 << 10) + 1}).blocks_per_sm, 0);
}

TEST(Occupancy, ReproducesTheCourseExamples) {
  // GT 740M: 16x16 threads give 8 blocks, 32x32 give 2, both 2048 threads.
  const DeviceSpec& gpu = catalog_gpu("gt740m");
  EXPECT_EQ(occupancy(gpu, {.threads = 256, .registers = 11, .smem_bytes = 3 << 10}).blocks_per_sm, 8);
  EXPECT_EQ(occupancy(gpu, {.threads = 1024, .registers = 11, .smem_bytes = 12 << 10}).blocks_per_sm, 2);
}

#if MMTUNE_HAS_CUDA_OCCUPANCY

cudaOccDeviceProp properties_of(const DeviceSpec& gpu) {
  cudaOccDeviceProp properties;
  properties.computeMajor = gpu.cc_major;
  properties.computeMinor = gpu.cc_minor;
  properties.maxThreadsPerBlock = gpu.max_threads_per_block;
  properties.maxThreadsPerMultiprocessor = gpu.max_threads_per_sm;
  properties.regsPerBlock = gpu.max_registers_per_block;
  properties.regsPerMultiprocessor = gpu.max_registers_per_sm;
  properties.warpSize = gpu.warp_size;
  properties.sharedMemPerBlock = static_cast<std::size_t>(gpu.smem_per_block);
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(gpu.smem_per_sm);
  properties.numSms = gpu.sm_count;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(gpu.smem_per_block_optin);
  properties.reservedSharedMemPerBlock = static_cast<std::size_t>(gpu.smem_reserved_per_block);
  return properties;
}

cudaOccError toolkit_result(const DeviceSpec& gpu, const BlockResources& block, cudaOccResult& result) {
  const cudaOccDeviceProp properties = properties_of(gpu);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = INT_MAX;
  attributes.numRegs = block.registers;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(block.smem_bytes);
  attributes.numBlockBarriers = 1;
  cudaOccDeviceState state;
  state.cacheConfig = CACHE_PREFER_SHARED;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  return cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, block.threads,
                                                 static_cast<std::size_t>(block.smem_bytes));
}

/// Blocks per SM by the toolkit's calculation, or -1 where it reports an error.
int toolkit_blocks(const DeviceSpec& gpu, const BlockResources& block) {
  cudaOccResult result;
  return toolkit_result(gpu, block, result) == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

TEST(Occupancy, AgreesWithTheToolkit) {
  int mismatches = 0;
  for (const auto& [key, gpu] : gpu_catalog()) {
    for (int threads = 32; threads <= 1024; threads += 32) {
      for (int registers = 16; registers <= gpu.max_registers_per_thread; registers += 7) {
        for (std::int64_t smem = 0; smem <= gpu.smem_per_block_optin; smem += 3001) {
          const BlockResources block{threads, registers, smem};
          if (occupancy(gpu, block).blocks_per_sm == toolkit_blocks(gpu, block)) continue;
          if (++mismatches > 5) return;
          ADD_FAILURE() << key << ": " << threads << " threads, " << registers << " registers, " << smem
                        << " bytes: " << occupancy(gpu, block).blocks_per_sm << " blocks, the toolkit says "
                        << toolkit_blocks(gpu, block);
        }
      }
    }
  }
}

/// A GPU of an architecture, with the limits that matter here.
DeviceSpec gpu_of(const Architecture& row) {
  DeviceSpec gpu = catalog_gpu("h200");
  gpu.cc_major = row.cc / 10;
  gpu.cc_minor = row.cc % 10;
  gpu.max_threads_per_sm = row.threads_per_sm;
  gpu.max_blocks_per_sm = row.blocks_per_sm;
  gpu.max_registers_per_thread = row.registers_per_thread;
  gpu.smem_per_sm = std::int64_t{row.smem_per_sm_kib} << 10;
  gpu.smem_per_block_optin = std::int64_t{row.smem_per_block_kib} << 10;
  gpu.smem_reserved_per_block = std::int64_t{row.smem_reserved_kib} << 10;
  return gpu;
}

TEST(Occupancy, AgreesWithTheToolkitOnEveryArchitecture) {
  for (const Architecture& row : kArchitectures) {
    const DeviceSpec gpu = gpu_of(row);
    int mismatches = 0;
    for (int threads = 1; threads <= 1024; threads += 31) {
      for (int registers = 1; registers <= gpu.max_registers_per_thread; registers += 6) {
        for (std::int64_t smem = 0; smem <= gpu.smem_per_block_optin; smem += 4093) {
          const BlockResources block{threads, registers, smem};
          const int ours = occupancy(gpu, block).blocks_per_sm;
          if (ours == toolkit_blocks(gpu, block) || ++mismatches > 3) continue;
          ADD_FAILURE() << row.cc << ": " << threads << " threads, " << registers << " registers, " << smem
                        << " bytes: " << ours << " blocks, the toolkit says " << toolkit_blocks(gpu, block);
        }
      }
    }
  }
}

TEST(Occupancy, EachLimitAgreesWithTheToolkit) {
  for (const Architecture& row : kArchitectures) {
    const DeviceSpec gpu = gpu_of(row);
    for (const BlockResources& block :
         {BlockResources{96, 40, 5000}, BlockResources{256, 128, 20000}, BlockResources{1024, 32, 40000}}) {
      if (block.registers > gpu.max_registers_per_thread) continue;
      const auto by = occupancy(gpu, block).blocks_by;
      cudaOccResult result;
      ASSERT_EQ(toolkit_result(gpu, block, result), CUDA_OCC_SUCCESS) << row.cc;
      EXPECT_EQ(by, (std::array{result.blockLimitWarps, result.blockLimitBlocks, result.blockLimitRegs,
                                result.blockLimitSharedMem}))
          << row.cc << ", " << block.threads << " threads";
    }
  }
}

TEST(Occupancy, AgreesWithTheToolkitAtTheEdgeOfSharedMemory) {
  for (const auto& [key, gpu] : gpu_catalog()) {
    for (int blocks = 1; blocks <= 16; ++blocks) {
      const std::int64_t most = gpu.smem_per_sm / blocks - gpu.smem_reserved_per_block;
      for (const std::int64_t smem : {most - 256, most - 128, most - 1, most, most + 1}) {
        if (smem > gpu.smem_per_block_optin) continue;
        const BlockResources block{64, 32, smem};
        EXPECT_EQ(occupancy(gpu, block).blocks_per_sm, toolkit_blocks(gpu, block)) << key << ", " << smem << " bytes";
      }
    }
  }
}

#endif

}  // namespace
}  // namespace mmtune
