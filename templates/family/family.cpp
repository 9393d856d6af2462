#include "templates/family/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "templates/gpu/device_spec.h"

namespace mmtune {
namespace {

using Measure = std::int64_t (*)(const LaunchPlan&, const DeviceSpec&);

enum class Amount { count, bytes };

/// A resource that a plan must not use more of than the device has.
struct Limit {
  std::string_view reason;
  std::string_view resource;  ///< the resource that is needed, as in "needs 2048 threads per block"
  Amount unit;
  Measure needed;
  Measure allowed;
};

/// The largest value among the plan's steps.
template <class Value>
std::int64_t most(const LaunchPlan& plan, Value value) {
  std::int64_t largest = 0;
  for (const LaunchStep& step : plan.steps) largest = std::max<std::int64_t>(largest, value(step));
  return largest;
}

std::int64_t most_threads(const LaunchPlan& plan) { return most(plan, block_threads); }

// Registers are handed out in groups of eight per thread to whole warps.
std::int64_t registers_per_block(const LaunchPlan& plan, const DeviceSpec& device) {
  const std::int64_t warps = (most_threads(plan) + device.warp_size - 1) / device.warp_size;
  return (plan.work.registers + 7) / 8 * 8 * warps * device.warp_size;
}

// Grid limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr std::array kLimits{
    Limit{"the block has no more threads than the device allows", "threads per block", Amount::count,
          [](const LaunchPlan& plan, const DeviceSpec&) { return most_threads(plan); },
          [](const LaunchPlan&, const DeviceSpec& device) -> std::int64_t { return device.max_threads_per_block; }},
    Limit{"shared memory fits the device", "of shared memory", Amount::bytes,
          [](const LaunchPlan& plan, const DeviceSpec&) {
            return most(plan, [](const LaunchStep& step) { return step.smem_bytes; });
          },
          [](const LaunchPlan&, const DeviceSpec& device) {
            return std::min(device.smem_per_block_optin, device.smem_per_sm - device.smem_reserved_per_block);
          }},
    Limit{"the estimated registers fit a thread", "registers per thread", Amount::count,
          [](const LaunchPlan& plan, const DeviceSpec&) -> std::int64_t { return plan.work.registers; },
          [](const LaunchPlan&, const DeviceSpec& device) -> std::int64_t { return device.max_registers_per_thread; }},
    Limit{"the estimated registers fit a block", "registers per block", Amount::count, registers_per_block,
          [](const LaunchPlan&, const DeviceSpec& device) -> std::int64_t { return device.max_registers_per_block; }},
    Limit{"the grid's x extent is at most 2^31-1", "blocks along x", Amount::count,
          [](const LaunchPlan& plan, const DeviceSpec&) {
            return most(plan, [](const LaunchStep& step) { return step.grid.x; });
          },
          [](const LaunchPlan&, const DeviceSpec&) -> std::int64_t { return 2147483647; }},
    Limit{"the grid's y and z extents are at most 65535", "blocks along y or z", Amount::count,
          [](const LaunchPlan& plan, const DeviceSpec&) {
            return most(plan, [](const LaunchStep& step) { return std::max(step.grid.y, step.grid.z); });
          },
          [](const LaunchPlan&, const DeviceSpec&) -> std::int64_t { return 65535; }},
    Limit{"the cluster has no more blocks than the device allows", "blocks per cluster", Amount::count,
          [](const LaunchPlan& plan, const DeviceSpec&) { return most(plan, cluster_blocks); },
          [](const LaunchPlan&, const DeviceSpec& device) -> std::int64_t { return device.max_cluster_size; }},
};

constexpr std::string_view kAligned = "the operands are aligned for the kernel's vector width";
constexpr std::string_view kWholeClusters = "whole clusters make up the grid";

bool whole_clusters(const LaunchPlan& plan) {
  return std::all_of(plan.steps.begin(), plan.steps.end(), [](const LaunchStep& step) {
    const auto& [grid, cluster] = std::pair(step.grid, step.cluster);
    return grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
  });
}

std::string amount(std::int64_t value, Amount unit) {
  if (unit == Amount::count) return fmt::format("{}", value);
  return value % 1024 == 0 ? fmt::format("{} KiB", value / 1024) : fmt::format("{:.1f} KiB", value / 1024.0);
}

std::string detail(std::string_view rule, const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device) {
  for (const Limit& limit : kLimits) {
    if (limit.reason != rule) continue;
    return fmt::format("needs {} {}, device allows {}", amount(limit.needed(plan, device), limit.unit), limit.resource,
                       amount(limit.allowed(plan, device), limit.unit));
  }
  if (rule == kAligned) {
    return fmt::format("needs A, B and C aligned to {}, {} and {} bytes, they are aligned to {}, {} and {}",
                       plan.needs.a, plan.needs.b, plan.needs.c, problem.align.a, problem.align.b, problem.align.c);
  }
  return fmt::format("must hold: {}", rule);
}

}  // namespace

void check_common_limits(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, Rules& rules) {
  for (const Limit& limit : kLimits)
    rules.must(limit.needed(plan, device) <= limit.allowed(plan, device), limit.reason);
  rules.must(whole_clusters(plan), kWholeClusters);
  rules.must(satisfies(problem.align, plan.needs), kAligned);
}

std::string explain(const Family& family, const Problem& problem, const Config& config, const DeviceSpec& device) {
  const std::string_view rule = family.broken_rule(problem, config, device);
  const std::string text = config.text();
  const std::string what = fmt::format("{}{}{}", family.name(), text.empty() ? "" : " ", text);
  if (rule.empty()) return fmt::format("{}: all rules hold", what);
  return fmt::format("{}: {}", what, detail(rule, problem, family.plan(problem, config, device), device));
}

}  // namespace mmtune
