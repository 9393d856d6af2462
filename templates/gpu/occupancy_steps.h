// What follows from an occupancy: what would raise it, how it goes with each resource, and how blocks fill the GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "templates/gpu/occupancy.h"

namespace mmtune {

/// An amount of a block's resource: threads per block, registers per thread, or bytes of shared memory per block.
struct ResourceChange {
  OccupancyLimit resource = OccupancyLimit::none;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// The least change of a block that gives an SM more warps. All changes are needed together.
struct OccupancyStep {
  Occupancy then;
  std::vector<ResourceChange> changes;
};

/// Nothing where the SM is full, or where no block of this kind fills it better. Threads change by whole warps, shared
/// memory by 128 bytes.
std::optional<OccupancyStep> next_step(const DeviceSpec& device, const BlockResources& block);

/// "8 registers fewer: 3 blocks, 24 warps"
std::string to_string(const OccupancyStep& step);

struct OccupancyPoint {
  std::int64_t amount = 0;  ///< the amount of the resource that varies
  int warps_per_sm = 0;
};

/// Active warps against one resource, all others as in `block`: what an occupancy calculator draws. Threads go in warps
/// from one to the most of a block, registers from 1 to the most of a thread, shared memory in KiB from 0 to the most
/// of a block.
std::vector<OccupancyPoint> occupancy_curve(const DeviceSpec& device, const BlockResources& block,
                                            OccupancyLimit varied);

/// How a grid fills the GPU.
struct Waves {
  double waves = 0;  ///< how many times all SMs are filled; infinite where a block does not fit
  double tail = 0;   ///< the share of the last wave's places that stay empty, 0 to 1
};

Waves waves_of(const DeviceSpec& device, const Occupancy& occupancy, std::int64_t blocks);

}  // namespace mmtune
