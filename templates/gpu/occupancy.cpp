#include "templates/gpu/occupancy.h"

#include <algorithm>

#include "templates/base/round_up.h"

namespace mmtune {
namespace {

constexpr int kRegisterGranularity = 256;  // registers per warp

int blocks_by_warps(const DeviceSpec& device, int threads, int warps) {
  if (threads > device.max_threads_per_block) return 0;
  return device.max_threads_per_sm / device.warp_size / warps;
}

// Registers belong to one of an SM's partitions, of which the P100 has two and all others four. The launch check takes
// a block's warps to be spread evenly over four partitions on every GPU, even where they are not.
int blocks_by_registers(const DeviceSpec& device, int registers, int warps) {
  if (registers == 0) return kUnlimitedBlocks;
  const int per_warp = round_up(registers * device.warp_size, kRegisterGranularity);
  const bool launches =
      registers <= device.max_registers_per_thread && per_warp * round_up(warps, 4) <= device.max_registers_per_block;
  if (!launches) return 0;
  const int partitions = compute_capability(device) == 60 ? 2 : 4;
  const int warps_per_partition = device.max_registers_per_sm / partitions / per_warp;
  return warps_per_partition * partitions / warps;
}

int blocks_by_shared_memory(const DeviceSpec& device, std::int64_t smem_bytes) {
  const std::int64_t granularity = device.cc_major >= 8 ? 128 : 256;
  const std::int64_t taken = round_up(smem_bytes + device.smem_reserved_per_block, granularity);
  if (taken > device.smem_per_block_optin + device.smem_reserved_per_block) return 0;
  return taken == 0 ? kUnlimitedBlocks : static_cast<int>(device.smem_per_sm / taken);
}

}  // namespace

std::string_view to_string(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::threads:
      return "threads";
    case OccupancyLimit::blocks:
      return "blocks";
    case OccupancyLimit::registers:
      return "registers";
    case OccupancyLimit::shared_memory:
      return "shared memory";
    case OccupancyLimit::none:
      break;
  }
  return "none";
}

Occupancy occupancy(const DeviceSpec& device, const BlockResources& block) {
  const int warps = std::max(1, (block.threads + device.warp_size - 1) / device.warp_size);
  // The limits stand in the order of OccupancyLimit.
  const std::array blocks_by{blocks_by_warps(device, block.threads, warps), device.max_blocks_per_sm,
                             blocks_by_registers(device, block.registers, warps),
                             blocks_by_shared_memory(device, block.smem_bytes)};
  const auto least = std::min_element(blocks_by.begin(), blocks_by.end());
  const auto tightest = static_cast<OccupancyLimit>(least - blocks_by.begin());
  const int max_warps = device.max_threads_per_sm / device.warp_size;
  const int resident = *least * warps;
  // A full SM lacks nothing, whichever bound is the tightest.
  const bool full = resident == max_warps;
  return {.blocks_per_sm = *least,
          .warps_per_sm = resident,
          .share = static_cast<double>(resident) / max_warps,
          .limit = full ? OccupancyLimit::none : tightest,
          .tightest = tightest,
          .blocks_by = blocks_by};
}

}  // namespace mmtune
