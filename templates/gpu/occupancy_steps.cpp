#include "templates/gpu/occupancy_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace mmtune {
namespace {

constexpr std::int64_t kSmemStep = 128;     // a number of bytes that divides all granularities
constexpr std::int64_t kMemoryStep = 1024;  // the step in bytes

std::int64_t amount_of(const BlockResources& block, OccupancyLimit resource) {
  switch (resource) {
    case OccupancyLimit::threads:
      return block.threads;
    case OccupancyLimit::registers:
      return block.registers;
    default:
      return block.smem_bytes;
  }
}

BlockResources with(BlockResources block, OccupancyLimit resource, std::int64_t amount) {
  switch (resource) {
    case OccupancyLimit::threads:
      block.threads = static_cast<int>(amount);
      break;
    case OccupancyLimit::registers:
      block.registers = static_cast<int>(amount);
      break;
    default:
      block.smem_bytes = amount;
  }
  return block;
}

std::int64_t step_of(const DeviceSpec& device, OccupancyLimit resource) {
  if (resource == OccupancyLimit::threads) return device.warp_size;
  return resource == OccupancyLimit::registers ? 1 : kSmemStep;
}

/// The block with less of the resource, as little as lets that limit allow so many blocks; nothing where none does.
std::optional<BlockResources> reduced(const DeviceSpec& device, const BlockResources& block, OccupancyLimit resource,
                                      int blocks) {
  if (occupancy(device, block).allowed_by(resource) >= blocks) return block;
  const std::int64_t step = step_of(device, resource);
  const std::int64_t least = resource == OccupancyLimit::shared_memory ? 0 : step;
  for (std::int64_t amount = (amount_of(block, resource) - 1) / step * step; amount >= least; amount -= step) {
    const BlockResources less = with(block, resource, amount);
    if (occupancy(device, less).allowed_by(resource) >= blocks) return less;
  }
  return std::nullopt;
}

/// The block reduced so that so many fit. Registers come after threads, which they depend on.
std::optional<BlockResources> reduced_for(const DeviceSpec& device, std::optional<BlockResources> block, int blocks) {
  for (const auto resource : {OccupancyLimit::threads, OccupancyLimit::registers, OccupancyLimit::shared_memory}) {
    if (block) block = reduced(device, *block, resource, blocks);
  }
  return block;
}

OccupancyStep step_between(const DeviceSpec& device, const BlockResources& from, const BlockResources& to) {
  OccupancyStep step{occupancy(device, to), {}};
  for (const auto resource : {OccupancyLimit::threads, OccupancyLimit::registers, OccupancyLimit::shared_memory}) {
    const ResourceChange change{resource, amount_of(from, resource), amount_of(to, resource)};
    if (change.from != change.to) step.changes.push_back(change);
  }
  return step;
}

std::string text_of(const ResourceChange& change) {
  const std::int64_t less = change.from - change.to;
  const std::string_view direction = less > 0 ? "fewer" : "more";
  switch (change.resource) {
    case OccupancyLimit::threads:
      return fmt::format("{} threads {}", std::abs(less), direction);
    case OccupancyLimit::registers:
      return fmt::format("{} register{} {}", less, less == 1 ? "" : "s", direction);
    default:
      return fmt::format("{} bytes of shared memory {}", less, direction);
  }
}

}  // namespace

std::optional<OccupancyStep> next_step(const DeviceSpec& device, const BlockResources& block) {
  const Occupancy now = occupancy(device, block);
  if (now.limit == OccupancyLimit::none) return std::nullopt;
  // As many blocks as an SM may hold fill it only where they are larger.
  if (now.limit == OccupancyLimit::blocks) {
    for (int threads = block.threads + 1; threads <= device.max_threads_per_block; ++threads) {
      const BlockResources larger = with(block, OccupancyLimit::threads, threads);
      if (threads % device.warp_size != 0 || occupancy(device, larger).warps_per_sm <= now.warps_per_sm) continue;
      return step_between(device, block, larger);
    }
  }
  for (int blocks = now.blocks_per_sm + 1; blocks <= device.max_blocks_per_sm; ++blocks) {
    const auto less = reduced_for(device, block, blocks);
    if (!less) break;
    if (occupancy(device, *less).warps_per_sm > now.warps_per_sm) return step_between(device, block, *less);
  }
  return std::nullopt;
}

std::string to_string(const OccupancyStep& step) {
  std::vector<std::string> changes;
  for (const ResourceChange& change : step.changes) changes.push_back(text_of(change));
  const int blocks = step.then.blocks_per_sm;
  return fmt::format("{}: {} block{}, {} warps", fmt::join(changes, " and "), blocks, blocks == 1 ? "" : "s",
                     step.then.warps_per_sm);
}

std::vector<OccupancyPoint> occupancy_curve(const DeviceSpec& device, const BlockResources& block,
                                            OccupancyLimit varied) {
  const bool of_memory = varied == OccupancyLimit::shared_memory;
  const std::int64_t step = of_memory ? kMemoryStep : step_of(device, varied);
  const std::int64_t most = of_memory                           ? device.smem_per_block_optin
                            : varied == OccupancyLimit::threads ? device.max_threads_per_block
                                                                : device.max_registers_per_thread;
  std::vector<OccupancyPoint> curve;
  for (std::int64_t amount = of_memory ? 0 : step; amount <= most; amount += step) {
    curve.push_back({amount, occupancy(device, with(block, varied, amount)).warps_per_sm});
  }
  return curve;
}

Waves waves_of(const DeviceSpec& device, const Occupancy& occupancy, std::int64_t blocks) {
  const double places = static_cast<double>(occupancy.blocks_per_sm) * device.sm_count;
  const double waves = static_cast<double>(blocks) / places;
  return {.waves = waves, .tail = places > 0 ? std::ceil(waves) - waves : 0};
}

}  // namespace mmtune
