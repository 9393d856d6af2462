#include "templates/plan/launch_plan.h"

#include <algorithm>
#include <utility>

#include "templates/base/round_up.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

std::int64_t product(const Extent3& extent) { return extent.x * extent.y * extent.z; }

/// These arguments, with room for those that a family appends.
std::vector<Arg> begun_with(std::initializer_list<Arg> first) {
  std::vector<Arg> args;
  args.reserve(24);
  args.insert(args.end(), first);
  return args;
}

}  // namespace

Arg LaunchPlan::add_map(TensorMapSpec map) {
  maps.push_back(std::move(map));
  return Arg::map(maps.size() - 1);
}

bool multiplies(std::string_view kernel) { return kernel.starts_with("gemm"); }

const LaunchStep& main_step(const LaunchPlan& plan) {
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(),
                                  [](const LaunchStep& step) { return multiplies(step.kernel); });
  return found == plan.steps.end() ? plan.steps.front() : *found;
}

void overlap_steps(LaunchPlan& plan, const DeviceSpec& device) {
  if (compute_capability(device) < 90) return;
  for (LaunchStep& step : plan.steps) step.overlaps_previous = true;
}

bool launches_alike(const LaunchPlan& x, const LaunchPlan& y) {
  return x.steps == y.steps && x.workspace == y.workspace && x.maps == y.maps;
}

std::string_view why_unbatched(const LaunchPlan& plan) {
  for (const LaunchStep& step : plan.steps) {
    if (step.resident) return "its blocks wait for each other";
    if (step.grid.z > 1) return "its grid has layers of its own";
  }
  const auto is_of_matrices = [](const TensorMapSpec& map) { return map.dimensions.size() == 2; };
  if (!std::all_of(plan.maps.begin(), plan.maps.end(), is_of_matrices)) return "its tensor maps are of no matrices";
  return "";
}

bool is_at_launch(const LaunchPlan& plan, std::string_view parameter) {
  return std::any_of(plan.constants.begin(), plan.constants.end(), [&](const Constant& each) {
    return each.name == parameter && !each.is_bool && each.value == kAtLaunch;
  });
}

bool splits_at_launch(const LaunchPlan& plan) { return is_at_launch(plan, kSplit); }

std::int64_t block_threads(const LaunchStep& step) { return product(step.block); }

std::int64_t cluster_blocks(const LaunchStep& step) { return product(step.cluster); }

MatrixArgs add_copy(LaunchPlan& plan, std::string_view name, const StoredShape& shape, int element_bytes,
                    int unit_bytes) {
  const std::int64_t row_bytes = round_up(shape.columns * element_bytes, unit_bytes);
  return {plan.workspace.add(name, shape.rows * row_bytes), Arg::number(row_bytes / element_bytes)};
}

std::vector<Arg> blas_arguments(const MatrixArgs& a, const MatrixArgs& b) {
  return begun_with({Arg::extent(Extent::m), Arg::extent(Extent::n), Arg::extent(Extent::k), Arg::scalar(Scalar::alpha),
                     a.address.as("A"), a.ld.as("lda"), b.address.as("B"), b.ld.as("ldb"), Arg::scalar(Scalar::beta),
                     Arg::operand(Operand::c), Arg::ld(Operand::c)});
}

std::vector<Arg> result_arguments() {
  return begun_with({Arg::extent(Extent::m), Arg::extent(Extent::n), Arg::extent(Extent::k), Arg::scalar(Scalar::alpha),
                     Arg::scalar(Scalar::beta), Arg::operand(Operand::c), Arg::ld(Operand::c)});
}

std::vector<Arg> operand_arguments() {
  return begun_with({Arg::extent(Extent::m), Arg::extent(Extent::n), Arg::extent(Extent::k), Arg::operand(Operand::a),
                     Arg::ld(Operand::a), Arg::operand(Operand::b), Arg::ld(Operand::b)});
}

}  // namespace mmtune
