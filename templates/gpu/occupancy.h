// How many blocks of a kernel fit on a streaming multiprocessor, and what stops more: NVIDIA's occupancy calculation
// over a DeviceSpec, so that it also answers for GPUs that are not installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "templates/gpu/device_spec.h"

namespace mmtune {

struct BlockResources {
  int threads = 0;              ///< threads per block
  int registers = 0;            ///< registers per thread
  std::int64_t smem_bytes = 0;  ///< bytes per block, static and dynamic, without the system's share
};

enum class OccupancyLimit { threads, blocks, registers, shared_memory, none };
inline constexpr std::size_t kOccupancyLimits = 4;  ///< the number of limits, without none

std::string_view to_string(OccupancyLimit limit);

struct Occupancy {
  int blocks_per_sm = 0;  ///< 0: the block does not fit at all
  int warps_per_sm = 0;
  double share = 0;                                ///< the share of the warps that an SM can hold, 0 to 1
  OccupancyLimit limit = OccupancyLimit::none;     ///< the limit that binds first; none: the SM is full
  OccupancyLimit tightest = OccupancyLimit::none;  ///< the same, also of a full SM
  std::array<int, kOccupancyLimits> blocks_by{};   ///< the number by each limit alone; kUnlimitedBlocks: any

  int allowed_by(OccupancyLimit one) const { return blocks_by[static_cast<std::size_t>(one)]; }
};
inline constexpr int kUnlimitedBlocks = std::numeric_limits<int>::max();

/// Allocation granularity follows cuda_occupancy.h of the CUDA toolkit (registers by 256 per warp; shared memory by
/// 128 bytes from compute capability 8.0 on, 256 before), checked against it in the tests.
Occupancy occupancy(const DeviceSpec& device, const BlockResources& block);

}  // namespace mmtune
