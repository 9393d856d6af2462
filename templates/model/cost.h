// The analytic model: a predicted time from a launch plan and a GPU's limits. It ranks candidates before they are
// compiled, serves sizes that were never tuned and GPUs that are not there. Predicted, and called so wherever it shows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "templates/gpu/device_spec.h"
#include "templates/model/clocks.h"
#include "templates/plan/launch_plan.h"
#include "templates/problem/problem.h"

namespace mmtune {

std::string_view to_string(Bottleneck bottleneck);

/// The problem itself, or the one with a k of 1 where k is 0: the model needs a loop to time.
Problem with_depth(Problem problem);

struct Prediction {
  double time_us = 0;
  double waves = 0;  ///< the times that the GPU is filled with blocks; the last wave may be partial
  /// Shares of the time, by Bottleneck; zeros where the time is 0 or infinite.
  std::array<double, kBottlenecks> shares{};

  Bottleneck bottleneck() const;  ///< the largest share
};

/// What no kernel can be faster than: the operations at a unit's peak, and the operands and C moved once each at the
/// bandwidth of device memory. Infinite where the rate is 0.
struct Floors {
  double arithmetic_us = 0;
  double memory_us = 0;

  double least_us() const { return std::max(arithmetic_us, memory_us); }  ///< the shortest time of one call
};

Floors floors(const Problem& problem, double peak_tflops, const DeviceSpec& device);

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
  double unaligned_result_clocks = 0;  ///< the clocks of an SM for a result whose row is not aligned, besides
  int result_align = 0;                ///< the bytes to which the program takes rows of results to be aligned

  // The device as this kernel uses it.
  double sm_count = 0;            ///< the SMs that whole clusters occupy
  double l2_bytes_per_clock = 0;  ///< the bytes of an SM while all load

  friend bool operator==(const PlanCost&, const PlanCost&) = default;
};

/// Registers as for predict().
PlanCost cost_of(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread);

/// The prediction for the extents of a problem that differs from the plan's in nothing else. `workspace_bytes` are all
/// that a plan for these extents has. `products` of the problem are computed by one launch, and the time is that of
/// all.
Prediction predict(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes, const DeviceSpec& device,
                   std::int64_t products = 1);

/// The time of predict() alone, which takes half as long to work out.
double predict_us(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes, const DeviceSpec& device,
                  std::int64_t products = 1);

/// No more than predict_us() says, in a tenth of the time: all that is issued, at the full rate of all SMs.
double least_us(const Problem& problem, const PlanCost& cost, const DeviceSpec& device, std::int64_t products = 1);

/// Registers and the occupancy that follows are the compiler's where they are known, else (registers_per_thread = 0)
/// plan.work.registers. The time is infinite where a block does not fit the device or the device lacks the unit that
/// the kernel uses, and 0 for an empty C. A program that cannot be one for a batch, see why_unbatched(), is launched
/// once for each of the products.
Prediction predict(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread,
                   std::int64_t products = 1);

}  // namespace mmtune
