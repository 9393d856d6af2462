// The time of one step along k, BK or tile_k deep, is what the scarcest of five resources needs, softened because they
// overlap imperfectly; how often it is taken follows from waves of blocks. Rates and latencies:
//   instructions     CUDA C++ Programming Guide, "Arithmetic Instructions"; four schedulers issue a warp a clock each
//   shared memory    ibid., "Shared Memory" of any compute capability: 32 banks of 4 bytes a clock
//   device memory    Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, and Luo et
//                    al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024,
//                    rounded to what holds for both
//   all others       set by hand to lie near 9000 times of simt on an H200; no size or configuration is named. So L2 is
//                    that of a GPU all of whose SMs load
//   other ways of    likewise, near the squares of a race with cuBLAS on an H200, and the stores near its 8192x8192x64
//   fetching         (docs/measuring.md); what the accelerator fetches from L2 was measured alone
#include "templates/cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "templates/dtype.h"
#include "templates/occupancy.h"

namespace mmtune {

namespace {

constexpr double kSchedulers = 4;              // of an SM
constexpr double kReady = 0.85;                // probability that a warp of unrolled multiply-adds can issue
constexpr double kSmemBytesPerClock = 128;     // of an SM
constexpr double kL2BytesPerClockAlone = 64;   // of an SM while few others load
constexpr double kL2BytesPerClockShared = 25;  // of an SM while all load
constexpr double kSmemLatency = 40;            // clocks from a load to its use
constexpr double kL2Latency = 500;             // clocks
constexpr double kMemoryLatency = 600;         // clocks
constexpr double kBarrierLatency = 40;         // clocks
constexpr double kClusterBytesPerClock = 24;   // of an SM, that sums over a cluster
constexpr int kGpcSms = 18;                    // of a GPC, in which a cluster lies; 16 in some of a Hopper GPU's
constexpr double kLaunchUs = 1.9;              // of the first kernel
constexpr double kNextLaunchUs = 0.6;          // of one that follows in the same graph: measured on an H200

/// What a way of fetching reaches.
struct FetchRates {
  double l2_bytes_per_clock;  ///< of an SM while all load
  double read_share;          ///< of the bandwidth of device memory; 1: what it falls short is in other constants
  double store_share;         ///< likewise
};
constexpr std::array<FetchRates, kFetches> kFetchRates{{
    {kL2BytesPerClockShared, 1, 1},
    {45, 1, 0.66},
    {58, 0.9, 0.66},
}};

/// One block's share of the work, and how many such blocks there are.
struct Blocks {
  double count;       ///< of all products
  double warps;       ///< of a block
  double iterations;  ///< tiles along k
  double fma;         ///< multiply-adds per iteration, padding included
  double load_bytes;  ///< fetched per iteration
  double tile_bytes;  ///< of A and B that an iteration multiplies, whichever block fetched them
};

Blocks blocks_of(const Problem& problem, const PlanCost& cost, double products) {
  const WorkEstimate& work = cost.work;
  const PrecisionTraits& types = traits(problem.precision);
  const auto tiles = [](std::int64_t extent, double tile) { return std::ceil(static_cast<double>(extent) / tile); };
  return {.count = tiles(problem.m, work.tile_m) * tiles(problem.n, work.tile_n) * work.split_k * products,
          .warps = cost.block_warps,
          .iterations = tiles(problem.k, static_cast<double>(work.tile_k) * work.split_k),
          .fma = static_cast<double>(work.tile_m) * work.tile_n * work.tile_k,
          .load_bytes = work.bytes_per_k * work.tile_k,
          .tile_bytes = static_cast<double>(work.tile_k) * (work.tile_m * types.a.bytes + work.tile_n * types.b.bytes)};
}

double memory_bytes_per_clock(const DeviceSpec& device) {
  return device.memory_bandwidth_gb_s * 1e3 / device.core_clock_mhz;
}

// Bytes of A and B that device memory delivers. The blocks of one wave cover a roughly square patch of C and fetch its
// two edges once; the next wave finds nothing of them in L2 unless both operands fit. Products have nothing in common.
double operand_traffic(const Problem& problem, const WorkEstimate& work, const DeviceSpec& device, const Blocks& blocks,
                       double resident, double products) {
  const PrecisionTraits& types = traits(problem.precision);
  const auto k = static_cast<double>(problem.k);
  const double unique = static_cast<double>(problem.m * types.a.bytes + problem.n * types.b.bytes) * k;
  if (unique <= static_cast<double>(device.l2_bytes)) return products * unique;
  const double count = blocks.count / products;
  const double patch = std::min(count, resident) / work.split_k * work.tile_m * work.tile_n;
  const double edges = std::ceil(count / resident) * std::sqrt(patch) * k * (types.a.bytes + types.b.bytes);
  return products * std::max(unique, std::min(edges, count * blocks.iterations * blocks.load_bytes));
}

/// Of an SM, by the unit that the kernel uses.
double multiply_adds_per_clock(const Problem& problem, const WorkEstimate& work, const DeviceSpec& device) {
  const Unit unit = work.unit.value_or(core_unit(problem.precision));
  return work.by_warps ? warp_fma_per_clock_per_sm(device, unit) : fma_per_clock_per_sm(device, unit);
}

/// The probability that none of so many warps can issue. Of many it is as good as 0.
double none_ready(double warps) {
  static const auto powers = [] {
    std::array<double, 32> of{};
    for (std::size_t i = 0; i < of.size(); ++i) of[i] = std::pow(1 - kReady, static_cast<double>(i));
    return of;
  }();
  return warps < powers.size() ? powers[static_cast<std::size_t>(warps)] : 0;
}

/// What one iteration of the blocks on an SM needs of each resource, in clocks.
struct Demand {
  double multiply_adds = 0, instructions = 0, idle = 0;  ///< of the schedulers, one after the other
  double shared_memory = 0, l2 = 0, memory = 0, latency = 0;

  double schedulers() const { return multiply_adds + instructions + idle; }
};

double cube(double x) { return x * x * x; }

/// The norm of what resources need that overlap: the third, or the sixth where each has a queue of its own, so that the
/// scarcest alone nearly is the time.
class Overlap {
 public:
  explicit Overlap(bool has_queues) : has_queues_(has_queues) {}
  double power(double x) const { return has_queues_ ? cube(x) * cube(x) : cube(x); }
  double root(double x) const { return std::cbrt(has_queues_ ? std::sqrt(x) : x); }

 private:
  bool has_queues_;
};

/// Clocks by what they go to.
class Clocks {
 public:
  void add(Bottleneck to, double clocks) { by_[static_cast<std::size_t>(to)] += clocks; }
  double sum() const { return std::accumulate(by_.begin(), by_.end(), 0.0); }
  std::array<double, kBottlenecks> shares() const {
    auto shares = by_;
    const double all = sum();
    for (double& share : shares) share /= all;
    return shares;
  }

 private:
  std::array<double, kBottlenecks> by_{};
};

class Model {
 public:
  Model(const Problem& problem, const PlanCost& cost, const DeviceSpec& device, double products)
      : work_(cost.work),
        blocks_(blocks_of(problem, cost, products)),
        resident_(static_cast<double>(cost.blocks_per_sm) * device.sm_count),
        cluster_(cost.cluster),
        overlap_(cost.work.fetch == Fetch::accelerator) {
    cores_ = cost.multiply_adds_per_clock;
    // Kepler's schedulers issue two instructions a clock.
    const double issue = device.warp_size * kSchedulers * (device.cc_major < 5 ? 2 : 1);
    clocks_per_fma_ = std::max(1 / cores_, work_.issue_slots_per_fma / issue);
    const double traffic = operand_traffic(problem, work_, device, blocks_, resident_, products);
    const double fetched = blocks_.count * blocks_.iterations * blocks_.load_bytes;
    memory_share_ = std::min(1.0, traffic / std::max(1.0, fetched));
    rates_ = kFetchRates[static_cast<std::size_t>(work_.fetch)];
    memory_clocks_per_byte_ = memory_share_ / memory_bytes_per_clock(device) / rates_.read_share;
    const int clustered_sms = kGpcSms / cluster_ * cluster_;  // of a GPC, what whole clusters occupy
    sm_count_ = static_cast<double>(device.sm_count) * clustered_sms / kGpcSms;
    resident_ = cost.blocks_per_sm * sm_count_;
    tile_bytes_ = static_cast<double>(work_.tile_m) * work_.tile_n * traits(problem.precision).c.bytes;
    store_clocks_per_byte_ = 1 / memory_bytes_per_clock(device) / rates_.store_share;
  }

  double waves() const { return blocks_.count / resident_; }

  /// Of the whole grid: full waves, then what is left spread over the SMs.
  void add_to(Clocks& clocks) const {
    const double full = std::floor(waves());
    const double rest = blocks_.count - full * resident_;
    if (work_.shares_last_wave) {
      add_work(clocks, resident_, waves());
      add_edges(clocks, resident_, std::ceil(waves()));
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

 private:
  // Every block writes the sums of one tile, and reads those of another, through L2. Those that share a tile wait for
  // each other in turn.
  double hand_over_clocks(double tiles) const {
    const double sharers = std::min(resident_ / tiles, blocks_.iterations);
    const double at_once = 2 * (resident_ / sm_count_ * tile_bytes_ / kL2BytesPerClockShared + kL2Latency);
    return at_once + std::max(0.0, sharers - 1) * (2 * kL2Latency + tile_bytes_ / kL2BytesPerClockShared);
  }

  /// All iterations of so many waves of that many blocks. A norm of what they need lies between the sum and the largest
  /// alone; each has a share of it.
  void add_work(Clocks& clocks, double blocks, double waves) const {
    const Demand d = demand(blocks);
    const double iterations = blocks_.iterations * waves;
    const auto power = [this](double x) { return overlap_.power(x); };
    const double powers =
        power(d.schedulers()) + power(d.shared_memory) + power(d.l2) + power(d.memory) + power(d.latency);
    const double time = iterations * overlap_.root(powers);
    const double per_power = time / powers;
    const double issued = per_power * power(d.schedulers()) / d.schedulers();
    clocks.add(Bottleneck::arithmetic, issued * d.multiply_adds);
    clocks.add(Bottleneck::instructions, issued * d.instructions);
    clocks.add(Bottleneck::idle, issued * d.idle);
    clocks.add(Bottleneck::shared_memory, per_power * power(d.shared_memory));
    clocks.add(Bottleneck::l2, per_power * power(d.l2));
    clocks.add(Bottleneck::memory, per_power * power(d.memory));
    clocks.add(Bottleneck::latency, per_power * power(d.latency));
    if (!streams() && work_.meets)
      clocks.add(Bottleneck::barriers, iterations * kBarrierLatency / blocks_per_sm(blocks));
  }

  /// What comes before and after them: the first fetch and the store of C are covered only by other blocks of the SM.
  void add_edges(Clocks& clocks, double blocks, double waves) const {
    const double per_sm = blocks_per_sm(blocks);
    const double fill = latency();
    const double store = blocks * tile_bytes_ * store_clocks_per_byte_;
    clocks.add(Bottleneck::edges, waves * (fill + store) / per_sm);
    clocks.add(Bottleneck::exchange, waves * cluster_clocks(per_sm));
  }

  bool streams() const { return work_.fetch == Fetch::accelerator; }

  /// Where the accelerator fetches a tile while the one before is multiplied: the first fetch, and the store of the
  /// last tile, which L2 takes.
  void add_streamed_edges(Clocks& clocks) const {
    const double tiles = std::ceil(waves());
    clocks.add(Bottleneck::edges,
               (work_.persistent ? 1 : tiles) * latency() + kL2Latency + tile_bytes_ / rates_.l2_bytes_per_clock);
    clocks.add(Bottleneck::exchange, work_.multicasts ? (cluster_ > 1 ? kL2Latency : 0) : tiles * cluster_clocks(1));
  }

  double blocks_per_sm(double blocks) const { return std::ceil(blocks / sm_count_); }

  // Blocks of a cluster wait for each other twice and add their sums through each other's shared memory.
  double cluster_clocks(double per_sm) const {
    return cluster_ == 1 ? 0 : 2 * kL2Latency + per_sm * tile_bytes_ / kClusterBytesPerClock;
  }

  /// Of a wave of that many blocks. A scheduler idles where others have a warp more and while none of its own is ready.
  Demand demand(double blocks) const {
    const double per_sm = std::ceil(blocks / sm_count_);
    const double warps = per_sm * blocks_.warps;
    const double per_scheduler = std::ceil(warps / kSchedulers);
    const double wanted = per_scheduler * kSchedulers / warps / (1 - none_ready(per_scheduler));
    const double active = std::min(1.0, blocks / sm_count_);
    const double l2_rate = std::min(kL2BytesPerClockAlone, rates_.l2_bytes_per_clock / active);
    Demand demand;
    demand.multiply_adds = per_sm * blocks_.fma / cores_;
    const double issued = per_sm * blocks_.fma * clocks_per_fma_;
    demand.instructions = issued - demand.multiply_adds;
    demand.idle = issued * (wanted - 1);
    demand.shared_memory = per_sm * blocks_.fma * work_.smem_bytes_per_fma / kSmemBytesPerClock;
    // What the accelerator sends to several SMs arrives at each of them.
    demand.l2 = per_sm * (streams() ? blocks_.tile_bytes : blocks_.load_bytes) / l2_rate;
    demand.memory = blocks * blocks_.load_bytes * memory_clocks_per_byte_ + stored_meanwhile(blocks, per_sm);
    if (streams()) add_put(demand);
    demand.latency =
        std::max(work_.tile_k * kSmemLatency / work_.k_lanes, exposed_latency(demand.schedulers() / per_sm));
    return demand;
  }

  // The store of C, of an iteration: of all tiles but a block's last, or where no block takes another tile, of those
  // that other blocks of the SM cover. Through registers none is (fitted so).
  double stored_meanwhile(double blocks, double per_sm) const {
    if (work_.fetch == Fetch::loads) return 0;
    const double share = 1 - 1 / (streams() ? std::ceil(waves()) : per_sm);
    return blocks * tile_bytes_ * store_clocks_per_byte_ * share / std::max(1.0, blocks_.iterations);
  }

  // A tile's results pass through shared memory, and nothing is multiplied meanwhile unless another consumer does.
  void add_put(Demand& demand) const {
    const double put = 2 * tile_bytes_ / kSmemBytesPerClock;
    const double waited = work_.hides_stores ? 0 : put + kL2Latency;
    demand.idle += waited / std::max(1.0, blocks_.iterations);
    demand.shared_memory += std::max(put, waited) / std::max(1.0, blocks_.iterations);
  }

  double latency() const { return kL2Latency + memory_share_ * (kMemoryLatency - kL2Latency); }

  // With `depth` iterations in flight a fetch has that many iterations' time; without any, a block waits, then
  // computes.
  double exposed_latency(double block_clocks) const {
    const double depth = work_.bytes_in_flight / (streams() ? blocks_.tile_bytes : blocks_.load_bytes);
    return (latency() + block_clocks * std::max(0.0, 1 - depth)) / std::max(1.0, depth);
  }

  const WorkEstimate& work_;
  Blocks blocks_;
  double resident_;  // blocks of a full wave
  int cluster_ = 1;
  Overlap overlap_;
  FetchRates rates_{};
  double sm_count_ = 0;
  double cores_ = 1;  // multiply-adds per clock and SM
  double clocks_per_fma_ = 0;
  double memory_share_ = 0;  // of fetched bytes, that come from device memory
  double memory_clocks_per_byte_ = 0;
  double store_clocks_per_byte_ = 0;
  double tile_bytes_ = 0;
};

}  // namespace

std::string_view to_string(Bottleneck bottleneck) {
  constexpr std::array<std::string_view, kBottlenecks> kNames{
      "arithmetic", "instructions", "idle",  "shared memory", "L2",        "memory",
      "latency",    "barriers",     "edges", "exchange",      "workspace", "launch"};
  return kNames[static_cast<std::size_t>(bottleneck)];
}

Bottleneck Prediction::bottleneck() const {
  return static_cast<Bottleneck>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

Problem with_depth(Problem problem) {
  problem.k = std::max<std::int64_t>(1, problem.k);
  return problem;
}

Floors floors(const Problem& problem, double peak_tflops, const DeviceSpec& device) {
  return {flops(problem) / peak_tflops * 1e-6, minimal_bytes(problem) / device.memory_bandwidth_gb_s * 1e-3};
}

PlanCost cost_of(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread) {
  const LaunchStep& step = main_step(plan);
  const auto threads = static_cast<int>(block_threads(step));
  const Occupancy fit =
      occupancy(device, {.threads = threads,
                         .registers = registers_per_thread > 0 ? registers_per_thread : plan.work.registers,
                         .smem_bytes = step.smem_bytes});
  const double multiply_adds = multiply_adds_per_clock(problem, plan.work, device);
  return {.work = plan.work,
          .block_warps = std::ceil(static_cast<double>(threads) / device.warp_size),
          .cluster = static_cast<int>(cluster_blocks(step)),
          .steps = static_cast<int>(plan.steps.size()),
          .blocks_per_sm = multiply_adds > 0 ? fit.blocks_per_sm : 0,
          .multiply_adds_per_clock = multiply_adds,
          .batches = why_unbatched(plan).empty()};
}

namespace {

/// What one launch computes of so many products.
double products_at_once(const PlanCost& cost, std::int64_t products) {
  return cost.batches ? static_cast<double>(products) : 1;
}

/// Of a launch of a kernel that fits the device.
Clocks clocks_of(const Model& model, const PlanCost& cost, std::int64_t workspace_bytes, const DeviceSpec& device,
                 double products) {
  // Further steps stream the workspace, written by one and read by the next, through L2 as far as that holds it.
  const double workspace = static_cast<double>(workspace_bytes - cost.work.kept_bytes) * products;
  const double rate = workspace <= static_cast<double>(device.l2_bytes) ? kL2BytesPerClockShared * device.sm_count
                                                                        : memory_bytes_per_clock(device);
  const double launch_us = kLaunchUs + kNextLaunchUs * (cost.steps - 1);
  Clocks clocks;
  model.add_to(clocks);
  clocks.add(Bottleneck::workspace, 2 * workspace / std::max(rate, memory_bytes_per_clock(device)));
  clocks.add(Bottleneck::launch, launch_us * device.core_clock_mhz);
  return clocks;
}

}  // namespace

Prediction predict(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes, const DeviceSpec& device,
                   std::int64_t products) {
  if (problem.m == 0 || problem.n == 0) return {};
  if (cost.blocks_per_sm == 0) return {.time_us = std::numeric_limits<double>::infinity()};
  const double at_once = products_at_once(cost, products);
  const Model model(problem, cost, device, at_once);
  const Clocks clocks = clocks_of(model, cost, workspace_bytes, device, at_once);
  const double launches = static_cast<double>(products) / at_once;
  return {
      .time_us = launches * clocks.sum() / device.core_clock_mhz, .waves = model.waves(), .shares = clocks.shares()};
}

double predict_us(const Problem& problem, const PlanCost& cost, std::int64_t workspace_bytes, const DeviceSpec& device,
                  std::int64_t products) {
  if (problem.m == 0 || problem.n == 0) return 0;
  if (cost.blocks_per_sm == 0) return std::numeric_limits<double>::infinity();
  const double at_once = products_at_once(cost, products);
  const Clocks clocks = clocks_of(Model(problem, cost, device, at_once), cost, workspace_bytes, device, at_once);
  return static_cast<double>(products) / at_once * clocks.sum() / device.core_clock_mhz;
}

Prediction predict(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread,
                   std::int64_t products) {
  return predict(problem, cost_of(problem, plan, device, registers_per_thread), plan.workspace.bytes(), device,
                 products);
}

}  // namespace mmtune
