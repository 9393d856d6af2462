// What no launch could make sense of in a plan; see launch_plan.h.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

#include "templates/base/letters.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {
namespace {

template <class T>
bool one_of(T value, std::initializer_list<T> allowed) {
  return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

std::string slice_fault(const WorkspaceSlice& slice) {
  if (slice.bytes < 0) return fmt::format("{} bytes", slice.bytes);
  if (one_of<std::int64_t>(slice.alignment, {1, 2, 4, 8, 16, 32, 64, 128, WorkspaceLayout::kAlignment})) return "";
  return fmt::format("alignment to {} bytes is no power of two up to {}", slice.alignment, WorkspaceLayout::kAlignment);
}

/// What an argument names, and how many of that kind there are.
struct ArgumentKind {
  std::string_view kind;
  std::int64_t count;
};

/// Nothing for an argument that names nothing.
std::optional<ArgumentKind> named_by(const Arg& arg, const LaunchPlan& plan) {
  switch (arg.kind) {
    case Arg::Kind::operand:
      return ArgumentKind{"operand", 3};
    case Arg::Kind::ld:
      return ArgumentKind{"leading dimension", 3};
    case Arg::Kind::extent:
      return ArgumentKind{"extent", 3};
    case Arg::Kind::scalar:
      return ArgumentKind{"scalar", 2};
    case Arg::Kind::slice:
      return ArgumentKind{"slice", std::ssize(plan.workspace.slices())};
    case Arg::Kind::map:
      return ArgumentKind{"map", std::ssize(plan.maps)};
    case Arg::Kind::number:
      break;
  }
  return std::nullopt;
}

std::string arg_fault(const Arg& arg, const LaunchPlan& plan) {
  const auto named = named_by(arg, plan);
  if (!named || (arg.value >= 0 && arg.value < named->count)) return "";
  return fmt::format("{} {} of {}", named->kind, arg.value, named->count);
}

// Limits of the accelerator: CUDA driver API, cuTensorMapEncodeTiled.

constexpr std::int64_t kMostExtent = std::int64_t{1} << 32;
constexpr std::int64_t kStrideEnd = std::int64_t{1} << 40;
constexpr int kMostBox = 256;
constexpr int kUnit = 16;  // the unit of addresses, strides and boxes, in bytes

std::string dimension_fault(const MapDimension& dimension, bool is_first, const TensorMapSpec& map) {
  if (dimension.extent < 0 || dimension.extent > kMostExtent) return fmt::format("extent {}", dimension.extent);
  if (dimension.box < 1 || dimension.box > kMostBox) return fmt::format("a box of {} elements", dimension.box);
  const auto& [bytes, rows] = dimension.stride;
  if (is_first) return bytes == 0 && rows == 0 ? "" : "a stride, but its elements are neighbours";
  const bool has_rows = map.base.kind == Arg::Kind::operand;
  if (rows < 0 || (rows > 0 && !has_rows)) return fmt::format("a stride of {} rows", rows);
  if (rows == 0 && bytes == 0 && dimension.extent > 1 && !is_empty(map)) return "no stride";
  return bytes >= 0 && bytes < kStrideEnd && bytes % kUnit == 0 ? "" : fmt::format("a stride of {} bytes", bytes);
}

int alignment_of(Operand operand, const Alignment& align) {
  return operand == Operand::a ? align.a : operand == Operand::b ? align.b : align.c;
}

/// What is wrong with the place of a map whose dimensions are right.
std::string base_fault(const TensorMapSpec& map, const LaunchPlan& plan) {
  if (map.base.kind == Arg::Kind::operand) {
    if (std::string fault = arg_fault(map.base, plan); !fault.empty()) return fault;
    const int aligned = alignment_of(static_cast<Operand>(map.base.value), plan.needs);
    if (aligned >= kUnit) return "";
    return fmt::format("the plan asks {} for {} bytes of alignment", to_string(map.base), aligned);
  }
  if (map.base.kind != Arg::Kind::slice) return fmt::format("it cannot be over {}", to_string(map.base));
  if (std::string fault = arg_fault(map.base, plan); !fault.empty()) return fault;
  const WorkspaceSlice& slice = plan.workspace.slices()[map.base.index()];
  if (slice.alignment < kUnit) return fmt::format("{} is aligned to {} bytes", slice.name, slice.alignment);
  if (is_empty(map)) return "";
  std::int64_t end = element_bytes(map.format) * map.dimensions.front().extent;
  for (const MapDimension& dimension : map.dimensions) end += (dimension.extent - 1) * dimension.stride.bytes;
  return end <= slice.bytes ? "" : fmt::format("it ends {} bytes behind {}", end - slice.bytes, slice.name);
}

std::string map_fault(const TensorMapSpec& map, const LaunchPlan& plan) {
  if (map.dimensions.empty() || map.dimensions.size() > 5) return fmt::format("{} dimensions", map.dimensions.size());
  for (std::size_t i = 0; i < map.dimensions.size(); ++i) {
    const std::string fault = dimension_fault(map.dimensions[i], i == 0, map);
    if (!fault.empty()) return fmt::format("dimension {}: {}", i, fault);
  }
  const int row_bytes = map.dimensions.front().box * element_bytes(map.format);
  if (row_bytes % kUnit != 0) return fmt::format("rows of a box have {} bytes", row_bytes);
  if (!one_of(map.swizzle_bytes, {0, 32, 64, 128})) return fmt::format("no swizzle of {} bytes", map.swizzle_bytes);
  if (map.swizzle_bytes > 0 && row_bytes != map.swizzle_bytes) {
    return fmt::format("rows of a box have {} bytes, their swizzle {}", row_bytes, map.swizzle_bytes);
  }
  const int fetched = map.l2_promotion_bytes;
  if (!one_of(fetched, {0, 64, 128, 256})) return fmt::format("L2 fetches of {} bytes", fetched);
  if (map.fills_with_nan && !is_floating_point(map.format)) return "its format has no NaN";
  return base_fault(map, plan);
}

std::string step_prefix(const LaunchStep& step) {
  std::string prefix = step.kernel + "_";
  std::transform(prefix.begin(), prefix.end(), prefix.begin(), upper);
  return prefix;
}

/// The main step's constants are rendered from the step itself.
std::string constants_fault(const LaunchStep& step, const LaunchPlan& plan) {
  if (&step == &main_step(plan)) return "";
  const std::string prefix = step_prefix(step);
  const std::pair<std::string, std::int64_t> expected[] = {{prefix + "THREADS", block_threads(step)},
                                                           {prefix + "SMEM_BYTES", step.smem_bytes}};
  for (const auto& [name, value] : expected) {
    const auto found = std::find_if(plan.constants.begin(), plan.constants.end(),
                                    [&name = name](const Constant& each) { return each.name == name; });
    if (found == plan.constants.end() && value == 0) continue;
    if (found == plan.constants.end()) return fmt::format("no constant {} tells the kernel of {}", name, value);
    if (found->value != value) return fmt::format("{} = {}, but it launches {}", name, found->value, value);
  }
  return "";
}

std::string step_fault(const LaunchStep& step, const LaunchPlan& plan) {
  for (const Extent3& extent : {step.block, step.cluster}) {  // A grid is empty where C is.
    if (extent.x < 1 || extent.y < 1 || extent.z < 1) return "a block or cluster of nothing";
  }
  for (std::size_t i = 0; i < step.args.size(); ++i) {
    const std::string fault = arg_fault(step.args[i], plan);
    if (!fault.empty()) return fmt::format("argument {}: {}", i, fault);
  }
  return constants_fault(step, plan);
}

/// The first fault among named things, as "slice flags: -4 bytes".
template <class T, class Name, class Fault>
std::string first_fault(std::string_view kind, const std::vector<T>& things, Name T::*name, const Fault& fault) {
  for (const T& each : things) {
    const std::string found = fault(each);
    if (!found.empty()) return fmt::format("{} {}: {}", kind, each.*name, found);
  }
  return "";
}

}  // namespace

std::string plan_fault(const LaunchPlan& plan) {
  if (plan.steps.empty()) return "there is no step";
  std::set<std::string_view> names;
  const auto constant_fault = [&](const Constant& each) {
    return names.insert(each.name).second ? "" : "it is there twice";
  };
  for (const std::string& fault :
       {first_fault("constant", plan.constants, &Constant::name, constant_fault),
        first_fault("slice", plan.workspace.slices(), &WorkspaceSlice::name, slice_fault),
        first_fault("map", plan.maps, &TensorMapSpec::name, [&](const auto& map) { return map_fault(map, plan); }),
        first_fault("step", plan.steps, &LaunchStep::kernel,
                    [&](const auto& step) { return step_fault(step, plan); })}) {
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace mmtune
