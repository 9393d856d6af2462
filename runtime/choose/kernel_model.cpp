#include "runtime/choose/kernel_model.h"

#include <algorithm>
#include <cstdint>

#include "templates/family/min_blocks.h"
#include "templates/family/split_k.h"
#include "templates/family/summation.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

constexpr std::int64_t kWholeLines = 1024;  // the elements of a row that is whole lines, of any type
// The elements of a row that is not, where they have at most 4 bytes, nor is a row of three times as many. It is a
// multiple of every vector, and so large that its padding hardly counts.
constexpr std::int64_t kOthers = 8208;

double product(std::int64_t x, std::int64_t y) { return static_cast<double>(x) * static_cast<double>(y); }

/// What a workspace has for each element of an operand and of C, and besides.
struct WorkspaceBytes {
  double per_a, per_b, per_c, fixed;
};

/// Slices hold operands, sums of C or what blocks keep, so that their bytes are linear in the numbers of elements: four
/// plans tell by how much.
template <class PlanAt>
WorkspaceBytes bytes_around(std::int64_t extent, const PlanAt& plan_at) {
  constexpr std::int64_t kTimes = 3;
  const auto bytes_at = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return static_cast<double>(plan_at(m, n, k).workspace.bytes());
  };
  const double least = bytes_at(extent, extent, extent);
  const double by_m = bytes_at(kTimes * extent, extent, extent) - least;
  const double by_n = bytes_at(extent, kTimes * extent, extent) - least;
  const double by_k = bytes_at(extent, extent, kTimes * extent) - least;
  const double elements = product(extent, extent);
  const double twice = 2 * (kTimes - 1) * elements;
  WorkspaceBytes bytes{(by_m + by_k - by_n) / twice, (by_n + by_k - by_m) / twice, (by_m + by_n - by_k) / twice, 0};
  bytes.fixed = least - (bytes.per_a + bytes.per_b + bytes.per_c) * elements;
  return bytes;
}

}  // namespace

KernelModel::KernelModel(const Family& family, const Config& config, const Problem& rendered, const DeviceSpec& device,
                         int registers) {
  Problem problem = rendered;
  const auto plan_at = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    problem.m = m, problem.n = n, problem.k = k;
    return family.plan(problem, config, device);
  };
  const LaunchPlan plan = plan_at(kOthers, kOthers, kOthers);
  cost_ = cost_of(problem, plan, device, registers);
  splits_at_launch_ = mmtune::splits_at_launch(plan);
  if (plan.workspace.bytes() == 0) return;
  const WorkspaceBytes whole = bytes_around(kWholeLines, plan_at);
  const WorkspaceBytes others = bytes_around(kOthers, plan_at);
  per_a_ = {whole.per_a, others.per_a};
  per_b_ = {whole.per_b, others.per_b};
  bytes_per_c_ = whole.per_c;
  fixed_bytes_ = whole.fixed;
}

TimeBound KernelModel::time_below(const Problem& problem, const DeviceSpec& device, std::int64_t products, int parts,
                                  Power power, double limit_us) const {
  const auto bytes = static_cast<std::int64_t>(workspace_bytes(problem, parts));
  if (parts == 0) return predict_us(problem, cost_, bytes, device, products, power, limit_us);
  PlanCost cost = cost_;
  cost.split_k = parts;
  return predict_us(problem, cost, bytes, device, products, power, limit_us);
}

KernelModel::Parts KernelModel::best_parts(const Problem& problem, std::span<const int> numbers,
                                           const DeviceSpec& device, std::int64_t products, Power power,
                                           double limit_us) const {
  if (problem.invariant) {
    const int parts = invariant_parts(problem, compute_capability(device));
    if (parts <= 1) return {};
    return {parts, time_below(problem, device, products, parts, power, limit_us)};
  }
  Parts best;
  for (const int parts : numbers) {
    if (parts == 1 || problem.k < std::int64_t{2} * parts * cost_.tile_k) continue;
    const TimeBound time = time_below(problem, device, products, parts, power, std::min(best.time.us, limit_us));
    if (time.us < best.time.us) best = {parts, time};
  }
  return best;
}

Config KernelModel::fitted(const Family& family, Config config, const Problem& problem, const DeviceSpec& device,
                           std::int64_t products) const {
  if (!splits_at_launch_) return config;
  const std::size_t split = *split_position(family);
  const int parts = best_parts(problem, family.params()[split].values, device, products).number;
  if (parts > 0) config.set(split, parts);
  return config;
}

// Fewer parts than 1 would have no fewer steps along k in all.
double KernelModel::least_us(const Problem& problem, const DeviceSpec& device, std::int64_t products) const {
  if (!splits_at_launch_) return mmtune::least_us(problem, cost_, device, products);
  PlanCost cost = cost_;
  cost.split_k = 1;
  return mmtune::least_us(problem, cost, device, products);
}

bool KernelModel::fills_clusters(const Problem& problem) const {
  return problem.m > std::int64_t{cost_.tile_m} * (cost_.cluster_m / 2) &&
         problem.n > std::int64_t{cost_.tile_n} * (cost_.cluster_n / 2);
}

// Where the launch says the parts, reduce() is what comes next.
bool KernelModel::may_lie_in_pairs(const Problem& problem, const DeviceSpec& device, std::int64_t products) const {
  if (cost_.fetch != Fetch::accelerator || cost_.blocks_per_sm < 2 || splits_at_launch_) return false;
  const std::int64_t blocks = tiles_of_c(problem, cost_.tile_m, cost_.tile_n) * cost_.split_k * products;
  return mmtune::may_lie_in_pairs(problem, blocks, ceil_div(problem.k, cost_.tile_k * cost_.split_k), device);
}

// What a workspace has for results are their parts.
double KernelModel::workspace_bytes(const Problem& problem, int parts) const {
  const PrecisionTraits& types = traits(problem.precision);
  const auto copied = [](const PerElement& per_element, const StoredShape& shape, int element_bytes) {
    return (fills_lines(shape, element_bytes) ? per_element.of_whole_lines : per_element.of_others) *
           product(shape.rows, shape.columns);
  };
  const double share = parts == 0 ? 1 : static_cast<double>(parts) / cost_.split_k;
  return fixed_bytes_ + copied(per_a_, stored_a(problem), types.a.bytes) +
         copied(per_b_, stored_b(problem), types.b.bytes) + bytes_per_c_ * share * product(problem.m, problem.n);
}

}  // namespace mmtune
