#include "runtime/choose/kernel_model.h"

#include <cstdint>
#include <limits>

#include "templates/family/split_k.h"
#include "templates/family/summation.h"

namespace mmtune {
namespace {

constexpr std::int64_t kExtent = 1024;  // a multiple of every vector and tile

double product(std::int64_t x, std::int64_t y) { return static_cast<double>(x) * static_cast<double>(y); }

}  // namespace

// Slices hold operands, sums of C or what blocks keep, so that their bytes are linear in the numbers of elements: four
// plans tell by how much.
KernelModel::KernelModel(const Family& family, const Config& config, const Problem& rendered, const DeviceSpec& device,
                         int registers) {
  Problem problem = rendered;
  const auto plan_at = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    problem.m = m, problem.n = n, problem.k = k;
    return family.plan(problem, config, device);
  };
  const auto bytes_of = [](const LaunchPlan& plan) { return static_cast<double>(plan.workspace.bytes()); };
  const LaunchPlan plan = plan_at(kExtent, kExtent, kExtent);
  cost_ = cost_of(problem, plan, device, registers);
  splits_at_launch_ = mmtune::splits_at_launch(plan);
  const double least = bytes_of(plan);
  const double by_m = bytes_of(plan_at(2 * kExtent, kExtent, kExtent)) - least;
  const double by_n = bytes_of(plan_at(kExtent, 2 * kExtent, kExtent)) - least;
  const double by_k = bytes_of(plan_at(kExtent, kExtent, 2 * kExtent)) - least;
  const double elements = product(kExtent, kExtent);
  bytes_per_a_ = (by_m + by_k - by_n) / (2 * elements);
  bytes_per_b_ = (by_n + by_k - by_m) / (2 * elements);
  bytes_per_c_ = (by_m + by_n - by_k) / (2 * elements);
  fixed_bytes_ = least - (bytes_per_a_ + bytes_per_b_ + bytes_per_c_) * elements;
}

double KernelModel::time_us(const Problem& problem, const DeviceSpec& device, std::int64_t products, int parts) const {
  const auto bytes = static_cast<std::int64_t>(workspace_bytes(problem, parts));
  if (parts == 0) return predict_us(problem, cost_, bytes, device, products);
  PlanCost cost = cost_;
  cost.split_k = parts;
  return predict_us(problem, cost, bytes, device, products);
}

int KernelModel::best_parts(const Problem& problem, std::span<const int> numbers, const DeviceSpec& device,
                            std::int64_t products) const {
  if (problem.invariant) {
    const int parts = invariant_parts(problem, compute_capability(device));
    return parts > 1 ? parts : 0;
  }
  int best = 0;
  double best_us = std::numeric_limits<double>::infinity();
  for (const int parts : numbers) {
    if (parts == 1 || problem.k < std::int64_t{2} * parts * cost_.tile_k) continue;
    const double us = time_us(problem, device, products, parts);
    if (us >= best_us) continue;
    best = parts;
    best_us = us;
  }
  return best;
}

Config KernelModel::fitted(const Family& family, Config config, const Problem& problem, const DeviceSpec& device,
                           std::int64_t products) const {
  if (!splits_at_launch_) return config;
  const std::size_t split = *split_position(family);
  const int parts = best_parts(problem, family.params()[split].values, device, products);
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

// What a workspace has for results are their parts.
double KernelModel::workspace_bytes(const Problem& problem, int parts) const {
  const double share = parts == 0 ? 1 : static_cast<double>(parts) / cost_.split_k;
  return fixed_bytes_ + bytes_per_a_ * product(problem.m, problem.k) + bytes_per_b_ * product(problem.k, problem.n) +
         bytes_per_c_ * share * product(problem.m, problem.n);
}

}  // namespace mmtune
