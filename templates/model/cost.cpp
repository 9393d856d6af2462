// The time of one step along k, BK or tile_k deep, is what the scarcest of five resources needs, softened because they
// overlap imperfectly; how often it is taken follows from waves of blocks.
#include "templates/model/cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "templates/model/correction.h"
#include "templates/model/cost_rates.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {

namespace {

/// The work of a grid, for so many products.
struct Grid {
  double products;
  double blocks;      ///< the blocks of all products
  double iterations;  ///< a block's tiles along k
};

Grid grid_of(const Problem& problem, const PlanCost& cost, double products) {
  const double tiles_m = tiles_along(problem.m, cost.tile_m, cost.cluster_m);
  const double tiles_n = tiles_along(problem.n, cost.tile_n, cost.cluster_n);
  return {.products = products,
          .blocks = tiles_m * tiles_n * cost.split_k * products,
          .iterations = tiles_along(problem.k, static_cast<double>(cost.tile_k) * cost.split_k)};
}

/// The bytes that L2 delivers in the time that a block loses in an iteration to lines which lie in two, and to sectors
/// which do: all but those of rows that begin with a line of memory, or with a sector.
double straddling_bytes(const Problem& problem, const PlanCost& cost, const ModelNumbers& numbers) {
  const PrecisionTraits& types = traits(problem.precision);
  const auto lost = [&](const StoredShape& shape, int element_bytes) {
    const auto apart = static_cast<double>(row_alignment(shape, element_bytes));
    return numbers.straddle * (1 - apart / kMemoryLine) +
           numbers.straddled_sector * std::max(0.0, 1 - apart / kMemorySector);
  };
  return lost(stored_a(problem), types.a.bytes) * cost.in_place_a +
         lost(stored_b(problem), types.b.bytes) * cost.in_place_b;
}

/// The bytes of A and B that tiles fetch from device memory which are walked in bands of rows, column by column. What
/// fits half of L2 stays there until it is read again: all of an operand, or the rows of A that a band reads.
double walked_bytes(const Problem& problem, const PlanCost& cost, const DeviceSpec& device, double tiles_at_once) {
  const PrecisionTraits& types = traits(problem.precision);
  const double tiles_m = tiles_along(problem.m, cost.tile_m);
  const double tiles_n = tiles_along(problem.n, cost.tile_n);
  const double kept = static_cast<double>(device.l2_bytes) / 2;
  const double a = static_cast<double>(problem.m) * types.a.bytes * static_cast<double>(problem.k);
  const double b = static_cast<double>(problem.n) * types.b.bytes * static_cast<double>(problem.k);
  const double band = std::min(tiles_m, static_cast<double>(cost.group) * cost.cluster_m);
  const double rows = std::clamp(tiles_at_once / tiles_n, band, tiles_m);
  const double columns = std::clamp(tiles_at_once / rows, 1.0, tiles_n);
  const double times_a = a * rows / tiles_m <= kept ? 1 : tiles_n / columns;
  const double times_b = b <= kept ? 1 : tiles_m / rows;
  return a * times_a + b * times_b;
}

// Bytes of A and B that device memory delivers. The blocks of one wave cover a patch of C, roughly square where nothing
// is said of it, and fetch its two edges once; the next wave finds nothing of them in L2 unless both operands fit.
// Products have nothing in common.
double operand_traffic(const Problem& problem, const PlanCost& cost, const DeviceSpec& device, const Grid& grid) {
  const PrecisionTraits& types = traits(problem.precision);
  const auto k = static_cast<double>(problem.k);
  const double unique = static_cast<double>(problem.m * types.a.bytes + problem.n * types.b.bytes) * k;
  if (unique <= static_cast<double>(device.l2_bytes)) return grid.products * unique;
  const double resident = static_cast<double>(cost.blocks_per_sm) * device.sm_count;
  const double blocks = grid.blocks / grid.products;
  const double tiles_at_once = std::min(blocks, resident) / cost.split_k;
  const double edges = std::ceil(blocks / resident) * std::sqrt(tiles_at_once * cost.tile_m * cost.tile_n) * k *
                       (types.a.bytes + types.b.bytes);
  const double read = cost.group > 0 ? walked_bytes(problem, cost, device, tiles_at_once) : edges;
  return grid.products * std::max(unique, std::min(read, blocks * grid.iterations * cost.fetched_bytes));
}

/// The blocks or clusters that ask for the same lines when all begin, beyond those whose answers keep up.
double crowd(const Problem& problem, const PlanCost& cost, double resident, double served) {
  const auto asking = [&](std::int64_t extent, int tile, int cluster) {
    return std::min(tiles_along(extent, tile), resident) / cluster;
  };
  const double for_a = asking(problem.n, cost.tile_n, cost.cluster_n);
  const double for_b = asking(problem.m, cost.tile_m, cost.cluster_m);
  return std::max(0.0, std::max(for_a, for_b) - served);
}

/// The clocks that an SM takes longer to store a result in rows of this problem where these are not aligned.
double unaligned_result_clocks(const Problem& problem, const PlanCost& cost, const ModelNumbers& numbers) {
  if (std::min(problem.align.c, cost.result_align) < numbers.store_align) return cost.unaligned_result_clocks;
  const int bytes = traits(problem.precision).c.bytes;
  const bool begins_with_sectors = row_alignment({problem.m, problem.n}, bytes) >= kMemorySector;
  return cost.fetch != Fetch::accelerator || begins_with_sectors ? 0 : bytes / numbers.split_bytes_per_clock;
}

/// How many warps have to be there for one to be ready, of so many for each scheduler: of many one always is.
double wanted_for_one_ready(double warps, double ready) {
  constexpr double kMany = 32;
  if (warps >= kMany) return 1;
  double none_ready = 1;  // the probability that no warp is ready
  for (int i = 0; i < static_cast<int>(warps); ++i) none_ready *= 1 - ready;
  return 1 / (1 - none_ready);
}

class Model {
 public:
  Model(const Problem& problem, const PlanCost& cost, const DeviceSpec& device, double products)
      : cost_(cost),
        numbers_(model_numbers(device)),
        grid_(grid_of(problem, cost, products)),
        straddling_bytes_(straddling_bytes(problem, cost, numbers_)),
        row_share_(cost.group == 1 && problem.m > cost.tile_m * cost.cluster_m ? numbers_.accelerator_row_share : 1),
        resident_(cost.blocks_per_sm * cost.sm_count),
        waves_(grid_.blocks / resident_),
        crowd_(crowd(problem, cost, resident_, numbers_.accelerator_served)) {
    const double fetched = grid_.blocks * grid_.iterations * cost.fetched_bytes;
    memory_share_ = std::min(1.0, operand_traffic(problem, cost, device, grid_) / std::max(1.0, fetched));
    latency_ = numbers_.l2_latency + memory_share_ * (numbers_.memory_latency - numbers_.l2_latency);
    const double results = static_cast<double>(problem.m) * static_cast<double>(problem.n) * products;
    const double result_clocks = cost.result_clocks + unaligned_result_clocks(problem, cost, numbers_);
    result_clocks_ = results * result_clocks / device.sm_count;
  }

  double waves() const { return waves_; }

  /// Adds what the whole grid takes: full waves, then what is left spread over the SMs.
  void add_to(auto& clocks) const {
    const double full = std::floor(waves_);
    const double rest = grid_.blocks - full * resident_;
    if (cost_.shares_last_wave) {
      add_work(clocks, resident_, waves_);
      add_edges(clocks, resident_, std::ceil(waves_));
      if (rest > 0) clocks.add(Bottleneck::exchange, hand_over_clocks(rest));
      return;
    }
    const auto add_waves = [&](double blocks, double times) {
      add_work(clocks, blocks, times);
      if (!streams()) add_edges(clocks, blocks, times);
    };
    if (full > 0) add_waves(resident_, full);
    if (rest > 0) add_waves(rest, 1);
    if (streams()) add_streamed_edges(clocks);
  }

  /// What results take besides: to be stored where rows are not aligned, and in parts, to be added.
  void add_results_to(auto& clocks) const {
    const int parts = cost_.adds_parts ? cost_.split_k : 1;
    clocks.add(Bottleneck::edges, parts * result_clocks_);
    clocks.add(Bottleneck::exchange, std::max(0.0, parts - numbers_.parts_at_once) * numbers_.part_clocks);
  }

 private:
  // Every block writes the sums of one tile, and reads those of another, through L2. Those that share a tile wait for
  // each other in turn.
  double hand_over_clocks(double tiles) const {
    const double sharers = std::min(resident_ / tiles, grid_.iterations);
    const double at_once =
        2 * (cost_.blocks_per_sm * cost_.result_bytes / numbers_.l2_bytes_per_clock + numbers_.l2_latency);
    return at_once +
           std::max(0.0, sharers - 1) * (2 * numbers_.l2_latency + cost_.result_bytes / numbers_.l2_bytes_per_clock);
  }

  /// All iterations of so many waves of that many blocks.
  void add_work(auto& clocks, double blocks, double waves) const {
    const double iterations = grid_.iterations * waves;
    clocks.add(demand(blocks), iterations);
    if (cost_.meets) clocks.add(Bottleneck::barriers, iterations * numbers_.barrier_latency / blocks_per_sm(blocks));
  }

  /// What comes before and after them: the first fetch and the store of C are covered only by other blocks of the SM.
  void add_edges(auto& clocks, double blocks, double waves) const {
    const double per_sm = blocks_per_sm(blocks);
    clocks.add(Bottleneck::edges, waves * (latency_ + blocks * cost_.store_clocks) / per_sm);
    clocks.add(Bottleneck::exchange, waves * cluster_clocks(per_sm));
  }

  bool streams() const { return cost_.fetch == Fetch::accelerator; }

  /// The tiles of a block whose results leave while nothing is multiplied: all, unless another consumer multiplies the
  /// next one meanwhile, which the last does not have.
  double uncovered_tiles() const { return cost_.hides_stores ? 1 : std::ceil(waves_); }

  /// Where the accelerator fetches a tile while the one before is multiplied: the first fetch, the store of the last
  /// tile, which L2 takes, and results that are transposed while no other tile is multiplied.
  void add_streamed_edges(auto& clocks) const {
    const double tiles = std::ceil(waves_);
    const double turns = cost_.turns_results ? uncovered_tiles() : 0;
    clocks.add(Bottleneck::edges, (cost_.persistent ? 1 : tiles) * latency_ + numbers_.l2_latency +
                                      cost_.result_bytes / numbers_.accelerator_last_bytes_per_clock +
                                      turns * numbers_.accelerator_turn_clocks);
    clocks.add(Bottleneck::edges, crowd_ * numbers_.accelerator_crowd_clocks);
    if (cost_.split_k > 1) clocks.add(Bottleneck::exchange, numbers_.accelerator_parts_clocks);
    const bool shares_fetches = cost_.cluster_m * cost_.cluster_n > 1;
    clocks.add(Bottleneck::exchange, shares_fetches ? numbers_.l2_latency : tiles * sums_of_cluster_clocks(1));
  }

  double blocks_per_sm(double blocks) const { return std::ceil(blocks / cost_.sm_count); }

  // Blocks of a cluster wait for each other twice and add their sums through each other's shared memory.
  double cluster_clocks(double per_sm) const {
    return cost_.cluster == 1 ? 0 : 2 * numbers_.l2_latency + sums_of_cluster_clocks(per_sm);
  }

  double sums_of_cluster_clocks(double per_sm) const {
    return cost_.cluster == 1 ? 0 : per_sm * cost_.result_bytes / numbers_.cluster_bytes_per_clock;
  }

  /// What an iteration of a wave of that many blocks takes. A scheduler idles where others have a warp more and while
  /// none of its own is ready.
  IterationClocks demand(double blocks) const {
    const double sms = blocks / cost_.sm_count;
    const double per_sm = std::ceil(sms);
    const double warps = per_sm * cost_.block_warps;
    const double per_scheduler = std::ceil(warps / numbers_.schedulers);
    const double wanted =
        per_scheduler * numbers_.schedulers / warps * wanted_for_one_ready(per_scheduler, numbers_.ready);
    const double spread_rate = cost_.l2_bytes_per_clock / std::min(1.0, sms);
    const double l2_rate = streams() ? spread_rate : std::min(numbers_.l2_bytes_per_clock_alone, spread_rate);
    IterationClocks demand;
    demand.multiply_adds = per_sm * cost_.fma_clocks;
    const double issued = per_sm * cost_.issue_clocks;
    demand.instructions = issued - demand.multiply_adds;
    demand.idle = issued * (wanted - 1);
    demand.shared_memory = per_sm * cost_.smem_clocks;
    demand.l2 = per_sm * (cost_.fetched_bytes + straddling_bytes_) / (l2_rate * row_share_);
    demand.memory = blocks * memory_share_ * cost_.fetch_clocks + stored_meanwhile(blocks, per_sm);
    if (streams()) add_put(demand);
    demand.latency = std::max(cost_.load_latency, exposed_latency(demand.schedulers() / per_sm));
    return demand;
  }

  // The store of C, of an iteration: of all tiles but a block's last, or where no block takes another tile, of those
  // that other blocks of the SM cover. Results that pass through registers are not stored meanwhile, as times say.
  double stored_meanwhile(double blocks, double per_sm) const {
    if (cost_.fetch == Fetch::loads) return 0;
    const double share = streams() ? 1 : 1 - 1 / per_sm;
    return blocks * cost_.store_clocks * share / std::max(1.0, grid_.iterations);
  }

  // A tile's results pass through shared memory.
  void add_put(IterationClocks& demand) const {
    const double put = 2 * cost_.result_bytes / numbers_.smem_bytes_per_clock;
    const double waited = uncovered_tiles() / std::ceil(waves_) * (put + numbers_.accelerator_put_clocks);
    demand.idle += waited / std::max(1.0, grid_.iterations);
    demand.shared_memory += std::max(put, waited) / std::max(1.0, grid_.iterations);
  }

  // With so many iterations in flight a fetch has that many iterations' time; without any, a block waits, then
  // computes. The accelerator's fetches are many at once, and answered later than a single one.
  double exposed_latency(double block_clocks) const {
    const double ahead = cost_.iterations_ahead;
    const double latency = latency_ * (streams() ? numbers_.accelerator_busy_latency : 1);
    return (latency + block_clocks * std::max(0.0, 1 - ahead)) / std::max(1.0, ahead);
  }

  const PlanCost& cost_;
  const ModelNumbers& numbers_;
  Grid grid_;
  double straddling_bytes_;
  double row_share_;  // the share of L2's bandwidth that the order of tiles leaves
  double resident_;   // the blocks of a full wave
  double waves_;
  double crowd_;              // the blocks that ask for the same lines when all begin, beyond those served
  double memory_share_ = 0;   // the share of fetched bytes that come from device memory
  double latency_ = 0;        // the clocks of a fetch
  double result_clocks_ = 0;  // the clocks that storing takes besides, of all results or a part of them
};

/// What one launch computes of so many products.
double products_at_once(const PlanCost& cost, std::int64_t products) {
  return cost.batches ? static_cast<double>(products) : 1;
}

/// The time that launching all steps takes. Calls follow each other, and where two grids fit the GPU the blocks of the
/// next one begin beside these.
double launch_us(const PlanCost& cost, const ModelNumbers& numbers, double waves) {
  const FetchRates rates = rates_of(numbers, cost.fetch);
  const double beside_us = cost.blocks_per_sm > 1 && 2 * waves <= 1 ? rates.beside_us : 0;
  return rates.launch_us - beside_us + numbers.next_launch_us * (cost.steps - 1) +
         (cost.copies_first ? rates.copy_us : 0);
}

/// The clocks of a launch of a kernel that fits the device.
template <class Sum>
Sum clocks_of(const Model& model, const PlanCost& cost, std::int64_t workspace_bytes, const DeviceSpec& device,
              double products) {
  // Further steps stream the workspace, written by one and read by the next, through L2 as far as that holds it.
  const double workspace = static_cast<double>(workspace_bytes - cost.kept_bytes) * products;
  const ModelNumbers& numbers = model_numbers(device);
  double rate = memory_bytes_per_clock(device);
  if (workspace <= static_cast<double>(device.l2_bytes))
    rate = std::max(rate, numbers.l2_bytes_per_clock * device.sm_count);
  if (cost.copies_first) rate = std::min(rate, rates_of(numbers, cost.fetch).copy_bytes_per_clock * device.sm_count);
  Sum clocks;
  model.add_to(clocks);
  model.add_results_to(clocks);
  clocks.add(Bottleneck::workspace, 2 * workspace / rate);
  clocks.add(Bottleneck::launch, launch_us(cost, numbers, model.waves()) * device.core_clock_mhz);
  return clocks;
}

/// The prediction before its correction.
template <class Sum>
Prediction predict_by(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes,
                      const DeviceSpec& device, std::int64_t products) {
  if (problem.m == 0 || problem.n == 0) return {};
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (cost.blocks_per_sm == 0) return {.time_us = kNever, .analytic_us = kNever};
  const double at_once = products_at_once(cost, products);
  const Model model(problem, cost, device, at_once);
  const auto clocks = clocks_of<Sum>(model, cost, workspace_bytes, device, at_once);
  const double launches = static_cast<double>(products) / at_once;
  const double analytic_us = launches * clocks.sum() / device.core_clock_mhz;
  return {.time_us = analytic_us, .analytic_us = analytic_us, .waves = model.waves(), .shares = clocks.shares()};
}

/// Whether it is known what the power limit costs plans that fetch so.
bool is_limit_known(Fetch fetch) { return fetch == Fetch::accelerator; }

}  // namespace

std::string_view to_string(Bottleneck bottleneck) {
  constexpr std::array<std::string_view, kBottlenecks> kNames{
      "arithmetic", "instructions", "idle",  "shared memory", "L2",        "memory",
      "latency",    "barriers",     "edges", "exchange",      "workspace", "launch"};
  return kNames[static_cast<std::size_t>(bottleneck)];
}

Problem with_depth(Problem problem) {
  problem.k = std::max<std::int64_t>(1, problem.k);
  return problem;
}

Prediction predict(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes, const DeviceSpec& device,
                   std::int64_t products) {
  Prediction prediction = predict_by<Clocks>(problem, cost, workspace_bytes, device, products);
  if (has_correction(problem, cost, products))
    prediction.time_us *= correction(correction_inputs(problem, cost, prediction)).factor;
  return prediction;
}

TimeBound predict_us(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes,
                     const DeviceSpec& device, std::int64_t products, Power power, double limit_us) {
  const bool is_limited = power == Power::limited && is_limit_known(cost.fetch);
  const bool is_corrected = has_correction(problem, cost, products);
  if (!is_corrected && !is_limited)
    return {predict_by<SumOfClocks>(problem, cost, workspace_bytes, device, products).time_us};
  const Prediction analytic = predict_by<Clocks>(problem, cost, workspace_bytes, device, products);
  double time_us = analytic.time_us;
  if (is_limited) time_us *= power_factor(analytic.shares, device);
  if (!is_corrected) return {time_us};
  const double least_power = is_limited ? kLeastOfTrees : 1;  // the least that power_correction() may say
  const double least_us = kLeastCorrection * least_power * time_us;
  if (least_us >= limit_us) return {least_us, false};
  const CorrectionInputs inputs = correction_inputs(problem, cost, analytic);
  const auto [factor, is_exact] = correction(inputs, limit_us / (least_power * time_us));
  if (!is_exact) return {factor * least_power * time_us, false};
  if (is_limited) time_us *= power_correction(inputs);
  return {factor * time_us};
}

// Blocks of a wave need no less than their share of the issue slots of all SMs, and a norm is no less than any of what
// it is made of.
double least_us(const Problem& problem, const PlanCost& cost, const DeviceSpec& device, std::int64_t products) {
  if (cost.blocks_per_sm == 0) return std::numeric_limits<double>::infinity();
  const double at_once = products_at_once(cost, products);
  const Grid grid = grid_of(problem, cost, at_once);
  const double clocks = grid.blocks * grid.iterations * cost.issue_clocks / cost.sm_count;
  const double least = has_correction(problem, cost, products) ? kLeastCorrection : 1;
  return least * static_cast<double>(products) / at_once *
         (clocks / device.core_clock_mhz + launch_us(cost, model_numbers(device), 0));
}

Prediction predict(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread,
                   std::int64_t products) {
  return predict(problem, cost_of(problem, plan, device, registers_per_thread), plan.workspace.bytes(), device,
                 products);
}

double power_factor(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device) {
  if (!is_limit_known(plan.work.fetch)) return 1;
  const PlanCost cost = cost_of(problem, plan, device, 0);
  const Prediction analytic = predict_by<Clocks>(problem, cost, plan.workspace.bytes(), device, 1);
  const double factor = power_factor(analytic.shares, device);
  if (!has_correction(problem, cost, 1)) return factor;
  return factor * power_correction(correction_inputs(problem, cost, analytic));
}

}  // namespace mmtune
