#include "templates/model/plan_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "templates/gpu/occupancy.h"
#include "templates/model/cost_rates.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {

namespace {

/// What an iteration costs.
void add_iteration(PlanCost& cost, const Problem& problem, const WorkEstimate& work, const DeviceSpec& device) {
  const PrecisionTraits& types = traits(problem.precision);
  const Unit unit = work.unit.value_or(core_unit(problem.precision));
  const double rate = (work.by_warps ? warp_fma_per_clock_per_sm(device, unit) : fma_per_clock_per_sm(device, unit)) /
                      work.unit_products;
  const ModelNumbers& numbers = model_numbers(device);
  const double issue = device.warp_size * numbers.schedulers * numbers.issues;
  const double fma = static_cast<double>(work.tile_m) * work.tile_n * work.tile_k;
  cost.fetched_bytes = work.bytes_per_k * work.tile_k;
  cost.in_place_a = work.in_place_a * work.tile_k;
  cost.in_place_b = work.in_place_b * work.tile_k;
  cost.operand_bytes = static_cast<double>(work.tile_k) * (work.tile_m * types.a.bytes + work.tile_n * types.b.bytes);
  cost.iterations_ahead =
      work.bytes_in_flight / (work.fetch == Fetch::accelerator ? cost.operand_bytes : cost.fetched_bytes);
  cost.fma_clocks = fma / rate;
  cost.issue_clocks = fma * std::max(1 / rate, work.issue_slots_per_fma / issue);
  cost.smem_clocks = fma * work.smem_bytes_per_fma / numbers.smem_bytes_per_clock;
  cost.load_latency = work.tile_k * numbers.smem_latency / work.k_lanes;
  const FetchRates rates = rates_of(numbers, work.fetch);
  cost.fetch_clocks = cost.fetched_bytes / memory_bytes_per_clock(device) / rates.read_share;
  const int result_bytes = work.split_k > 1 ? types.accumulator.bytes : types.c.bytes;
  cost.result_bytes = static_cast<double>(work.tile_m) * work.tile_n * result_bytes;
  cost.store_clocks = work.stored_share * cost.result_bytes / memory_bytes_per_clock(device) / rates.store_share;
  constexpr int kResultRow = 8;  // An instruction of a warp leaves rows of eight: of 16 bits, half of a sector.
  const bool fills_sectors = kResultRow * result_bytes >= kMemorySector;
  cost.result_clocks = work.by_warps && !fills_sectors ? 1 / numbers.mma_half_sectors_per_clock : 0;
  cost.unaligned_result_clocks =
      work.by_warps ? 1 / numbers.mma_unaligned_per_clock : types.c.bytes / numbers.unaligned_bytes_per_clock;
  cost.result_align = problem.align.c;
  cost.l2_bytes_per_clock = rates.l2_bytes_per_clock;
  if (!(rate > 0)) cost.blocks_per_sm = 0;
}

/// The clusters of so many blocks that have their SMs for themselves. A GPC with fewer SMs than the others has room for
/// its share of them, rounded up: an H100 holds 66 of two blocks, 30 of four and 15 of eight, as
/// cuOccupancyMaxActiveClusters says. 39 of three and 19 of six are the most, as times say.
double clusters_alone(const DeviceSpec& device, int cluster) {
  const ModelNumbers& numbers = model_numbers(device);
  if (!std::has_single_bit(static_cast<unsigned>(cluster))) {
    return std::max(1.0, std::floor(numbers.uneven_clusters_share * device.sm_count / cluster));
  }
  const int gpc_sms = whole(numbers.gpc_sms);
  const std::int64_t clusters_of_gpc = gpc_sms / cluster;
  return std::ceil(static_cast<double>(clusters_of_gpc * device.sm_count) / gpc_sms);
}

}  // namespace

PlanCost cost_of(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread) {
  const WorkEstimate& work = plan.work;
  const LaunchStep& step = main_step(plan);
  const auto threads = static_cast<int>(block_threads(step));
  const Occupancy fit =
      occupancy(device, {.threads = threads,
                         .registers = registers_per_thread > 0 ? registers_per_thread : work.registers,
                         .smem_bytes = step.smem_bytes});
  const auto cluster = static_cast<int>(cluster_blocks(step));
  PlanCost cost;
  static_cast<TileWork&>(cost) = work;
  cost.batches = why_unbatched(plan).empty();
  cost.meets = work.meets && work.fetch != Fetch::accelerator;
  cost.adds_parts = splits_at_launch(plan);
  cost.steps = static_cast<int>(plan.steps.size());
  cost.cluster = cluster;
  cost.blocks_per_sm = fit.blocks_per_sm;
  cost.block_warps = std::ceil(static_cast<double>(threads) / device.warp_size);
  cost.sm_count = clusters_alone(device, cluster) * cluster;
  add_iteration(cost, problem, work, device);
  return cost;
}

}  // namespace mmtune
