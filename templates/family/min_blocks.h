// What the families have in common whose parameter MIN_BLOCKS says how many blocks an SM should hold at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "templates/family/family.h"
#include "templates/family/param.h"
#include "templates/gpu/device_spec.h"

namespace mmtune {

/// Blocks that the GPU holds at once, as far as registers say; what STREAM launches.
inline std::int64_t resident_blocks(int min_blocks, const DeviceSpec& device) {
  return std::int64_t{min_blocks} * device.sm_count;
}

/// Whether an SM holds so many blocks, each with `smem_bytes` of shared memory.
inline bool shared_memory_allows(int blocks, int smem_bytes, const DeviceSpec& device) {
  return (smem_bytes + device.smem_reserved_per_block) * blocks <= device.smem_per_sm;
}

/// The registers of an SM, of which every thread is expected to need `need`, are enough for MIN_BLOCKS blocks, and not
/// for twice as many.
inline void min_blocks_rules(Rules& rules, int need, int threads, const Param& min_blocks, const DeviceSpec& device) {
  rules.must(need <= 255, "expected registers fit a thread");
  rules.must(need * threads * min_blocks <= device.max_registers_per_sm, "registers allow MIN_BLOCKS blocks per SM");
  rules.worth(min_blocks == 4 || need * threads * 2 * (min_blocks + 1) > device.max_registers_per_sm,
              "MIN_BLOCKS uses at least half of the registers");
}

/// Whether `blocks` blocks with so many `steps` along k, of which an SM holds two and one would keep its tensor cores
/// busy, may lie in pairs on some SMs while others have none, and that would cost: they are nearly as many as SMs, and
/// the call is not so short, by few rows or columns of C or few steps, that those of the next one should begin beside
/// them. Measured: docs/lab/2026-11-30-pairs.md.
inline bool may_lie_in_pairs(const Problem& problem, std::int64_t blocks, std::int64_t steps,
                             const DeviceSpec& device) {
  constexpr std::int64_t kFewRows = 64;
  constexpr std::int64_t kFewSteps = 16;
  constexpr double kNearlyAll = 0.75;  // of the SMs
  if (std::min(problem.m, problem.n) <= kFewRows || steps <= kFewSteps) return false;
  return blocks <= device.sm_count && static_cast<double>(blocks) > kNearlyAll * device.sm_count;
}

}  // namespace mmtune
