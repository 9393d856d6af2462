// What of a launch plan the analytic model makes times of.
#pragma once

#include <cmath>
#include <cstdint>

#include "templates/gpu/device_spec.h"
#include "templates/plan/launch_plan.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// What of a plan decides its time on a device, and does not depend on the extents. Equal ones take equal times.
struct PlanCost : TileWork {
  bool batches = true;      ///< whether one launch computes several products
  bool meets = true;        ///< whether threads of a block wait for each other after every iteration
  bool adds_parts = false;  ///< whether a step adds the sums of the blocks that share a tile's k
  int steps = 1;
  int cluster = 1;        ///< the blocks of a cluster
  int blocks_per_sm = 0;  ///< the number of blocks; 0: none fits, or the device lacks the unit
  double block_warps = 1;

  // What a block takes for one step of tile_k along k, an iteration.
  double fetched_bytes = 0;
  double in_place_a = 0, in_place_b = 0;  ///< the part of these bytes that WorkEstimate calls so
  double operand_bytes = 0;               ///< the bytes of A and B that are multiplied, whichever block fetched them
  double iterations_ahead = 0;            ///< the iterations that are fetched meanwhile
  // What an iteration takes in clocks of an SM.
  double fma_clocks = 0;    ///< the clocks of multiply-adds, padding included, at the full rate
  double issue_clocks = 0;  ///< the clocks of all that is issued
  double smem_clocks = 0;   ///< the clocks of shared memory
  double load_latency = 0;  ///< the latency of reading operands from shared memory
  double fetch_clocks = 0;  ///< the clocks of device memory for all that is fetched, as if L2 had nothing of it

  // What a block's tile of C takes.
  double result_bytes = 0;
  double store_clocks = 0;             ///< the clocks of device memory
  double result_clocks = 0;            ///< the clocks of an SM for a result that is stored by halves of a sector
  double unaligned_result_clocks = 0;  ///< the clocks of an SM for a result whose row is not aligned, besides
  int result_align = 0;                ///< the bytes to which the program takes rows of results to be aligned

  // The device as this kernel uses it.
  double sm_count = 0;            ///< the SMs that whole clusters occupy
  double l2_bytes_per_clock = 0;  ///< the bytes of an SM while all load

  friend bool operator==(const PlanCost&, const PlanCost&) = default;
};

/// The tiles along an extent, filled up to whole clusters.
inline double tiles_along(std::int64_t extent, double tile, int cluster = 1) {
  return std::ceil(static_cast<double>(extent) / (tile * cluster)) * cluster;
}

/// Registers as for predict(), see templates/model/cost.h.
PlanCost cost_of(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread);

}  // namespace mmtune
