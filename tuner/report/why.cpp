#include "tuner/report/why.h"

#include <mmtune/error.h>

#include "templates/families.h"

namespace mmtune {
namespace {

std::optional<LaunchPlan> plan_of(const TrialKey& key, const DeviceSpec& device) {
  const Family* family = find_family(key.family);
  if (family == nullptr) return std::nullopt;
  try {
    return family->legal_plan(key.problem, family->with_defaults(family->parse(key.config), key.problem), device);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Why> why_of(const Winner& winner, const DeviceSpec& device) {
  const Problem& problem = winner.trial.key.problem;
  const std::optional<LaunchPlan> plan = plan_of(winner.trial.key, device);
  if (!plan || plan->steps.empty()) return std::nullopt;
  const LaunchStep& step = main_step(*plan);
  Why why;
  why.arithmetic_floor_us = flops(problem) / peak_tflops(device, problem.precision) * 1e-6;
  why.memory_floor_us = minimal_bytes(problem) / device.memory_bandwidth_gb_s * 1e-3;
  why.blocks = step.grid.x * step.grid.y * step.grid.z;
  why.threads = block_threads(step);
  why.occupancy = occupancy(device, {static_cast<int>(why.threads), winner.binary.registers, winner.trial.smem_bytes});
  why.prediction = predict(problem, *plan, device, winner.binary.registers);
  return why;
}

}  // namespace mmtune
