// What a call of the family `wgmma` takes, by the model's numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "templates/base/round_up.h"
#include "templates/families/wgmma/shape.h"
#include "templates/family/stored_boxes.h"
#include "templates/model/numbers.h"
#include "templates/plan/launch_plan.h"

namespace mmtune::wgmma_shape {

/// When a call of so many blocks lets in the next one. Where that has room beside it, late is after the last fetches,
/// when blocks that prefetch take nothing from them any more. But where each SM has one block and the call is long,
/// they come at its beginning: later, two of them would begin where a block has ended. Measured, as the next rule:
/// docs/lab/2026-11-26-prefetch.md.
inline bool lets_in_late(const Problem& problem, const Params& p, const DeviceSpec& device, std::int64_t blocks) {
  if (!is_followed_early(p)) return p.late == 1;
  const double bytes =
      static_cast<double>(problem.m + problem.n) * static_cast<double>(problem.k) * traits(problem.precision).a.bytes;
  return blocks > device.sm_count || bytes < model_numbers(device).beside_us * device.memory_bandwidth_gb_s * 1000;
}

/// The stages that blocks may prefetch before the call before has ended. In one row or column of tiles each asks for
/// what memory brings to its SM meanwhile. Else the first blocks ask for others, too, and begin later the more that is.
/// Copies (PACK) are only written meanwhile.
inline std::int64_t prefetched_stages(const Problem& problem, const Params& p, const DeviceSpec& device,
                                      std::int64_t blocks) {
  if (p.pack == 1 || (is_followed_early(p) && !lets_in_late(problem, p, device, blocks))) return 0;
  const ModelNumbers& numbers = model_numbers(device);
  const double bytes_per_us = device.memory_bandwidth_gb_s * 1000;
  const std::int64_t rows = ceil_div(problem.m, p.bm), columns = ceil_div(problem.n, p.bn);
  if (rows == 1 || columns == 1) {
    const int lines = rows == 1 ? p.bn / p.cluster_m : p.bm / p.cluster_n;
    const double most = numbers.memory_idle_us * bytes_per_us / device.sm_count / (lines * kLine);
    return std::min<std::int64_t>(kMostStages, std::lround(most));
  }
  const std::int64_t lines = std::min(blocks, rows * p.split) * p.bm + std::min(blocks, columns * p.split) * p.bn;
  const double most = numbers.first_blocks_us * bytes_per_us / static_cast<double>(lines * kLine);
  return std::min<std::int64_t>(kMostStages, static_cast<std::int64_t>(most));
}

/// The issue slots of a multiply-add where each stage's sums are added to others in registers: a consumer does that
/// while the other consumers of its SM multiply, and where it takes longer nothing is multiplied. Of consumers that
/// take turns one has no tile where a block has a single one.
inline double promoting_slots(const Problem& problem, const Params& p, const DeviceSpec& device) {
  const ModelNumbers& numbers = model_numbers(device);
  const double stage = static_cast<double>(p.bm) * p.bn * bk(problem);
  const double multiplied = stage / fma_per_clock_per_sm(device, traits(problem.precision).unit);
  const double added = numbers.wgmma_promotion_clocks * sums(p);
  const int at_once = tiles_of_c(problem, p.bm, p.bn) > device.sm_count ? 2 : 1;
  const double turn =
      p.pingpong == 1 ? (multiplied + added) / at_once : (multiplied / p.consumers + added) / p.min_blocks;
  const double issue = device.warp_size * numbers.schedulers * numbers.issues;
  return std::max(multiplied, turn) * issue / stage;
}

/// Results are stored by whole slices, one line of columns wide, or where SWAP = 1 by whole boxes of rows: what the
/// last one has in common with the one before is stored twice.
inline double stored_share(const Problem& problem, const Params& p) {
  const int extent = p.swap == 1 ? p.bm : p.bn;
  const int step = p.swap == 1 ? kStoredBoxRows : line_c(problem, p) / traits(problem.precision).c.bytes;
  return static_cast<double>(round_up(extent, step)) / extent;
}

inline WorkEstimate estimate(const Problem& problem, const Params& p, const DeviceSpec& device) {
  const PrecisionTraits& types = traits(problem.precision);
  const ModelNumbers& numbers = model_numbers(device);
  WorkEstimate work;
  work.unit = types.unit;
  work.issue_slots_per_fma = promotes(problem) ? promoting_slots(problem, p, device) : numbers.wgmma_issue_slots;
  const double bytes_a = static_cast<double>(held_a(problem, p)) / p.cluster_n * types.a.bytes;
  const double bytes_b = static_cast<double>(held_b(problem, p)) / p.cluster_m * types.b.bytes;
  work.bytes_per_k = bytes_a + bytes_b;
  work.in_place_a = packs_a(problem, p) ? 0 : bytes_a;
  work.in_place_b = packs_b(problem, p) ? 0 : bytes_b;
  // An instruction reads the steps of 64 rows and of its columns, which the accelerator has written.
  const double width = columns(p) / (has_one_instruction(p, device) ? 1.0 : 2.0);
  work.smem_bytes_per_fma = types.a.bytes / width + types.b.bytes / static_cast<double>(kFragment) +
                            static_cast<double>(types.a.bytes) / p.bn + static_cast<double>(types.b.bytes) / p.bm;
  work.persistent = p.reduce == 0;
  work.tile_m = p.bm;
  work.tile_n = p.bn;
  work.tile_k = bk(problem);
  work.k_lanes = bk(problem);  // The sums wait for no instruction of the same stage.
  work.fetch = Fetch::accelerator;
  work.copies_first = p.pack == 1;
  work.cluster_m = p.cluster_m;
  work.cluster_n = p.cluster_n;
  work.hides_stores = p.pingpong == 1;
  work.stored_share = p.split == 1 ? stored_share(problem, p) : 1;
  work.turns_results = p.swap == 1;
  work.split_k = p.split;
  work.group = p.group;
  const int own_sums = (p.own_parts > 1 ? 2 : 1) * sums(p);
  work.registers = moves_registers(p) ? registers_at_first(p, device) : own_sums + whole(numbers.wgmma_registers);
  work.bytes_in_flight = (stages(problem, p, device) - 1) * stage_bytes(problem, p);
  return work;
}

}  // namespace mmtune::wgmma_shape
