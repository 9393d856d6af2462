#include "templates/launch_plan.h"

#include <algorithm>

namespace mmtune {

const LaunchStep& main_step(const LaunchPlan& plan) {
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(),
                                  [](const LaunchStep& step) { return step.kernel.starts_with("gemm"); });
  return found == plan.steps.end() ? plan.steps.front() : *found;
}

void overlap_steps(LaunchPlan& plan, const DeviceSpec& device) {
  if (compute_capability(device) < 90) return;
  for (std::size_t i = 1; i < plan.steps.size(); ++i) plan.steps[i].overlaps_previous = true;
}

bool launches_alike(const LaunchPlan& x, const LaunchPlan& y) {
  return x.steps == y.steps && x.workspace_bytes == y.workspace_bytes && x.map_a == y.map_a && x.map_b == y.map_b;
}

std::int64_t block_threads(const LaunchStep& step) { return step.block.x * step.block.y * step.block.z; }

std::vector<Arg> blas_arguments() {
  return {Arg::m, Arg::n, Arg::k, Arg::alpha, Arg::a, Arg::lda, Arg::b, Arg::ldb, Arg::beta, Arg::c, Arg::ldc};
}

}  // namespace mmtune
