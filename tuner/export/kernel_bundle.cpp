#include "tuner/export/kernel_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/gpu/arguments.h"
#include "templates/base/joined.h"
#include "templates/problem/dtype.h"

namespace mmtune {

namespace embedded {
using Table = std::vector<std::pair<std::string_view, std::string_view>>;
const Table& bundle_dispatcher();
}  // namespace embedded

namespace {

std::string braced_extents(const Extent3& extent) {
  return fmt::format("{{{}, {}, {}}}", extent.x, extent.y, extent.z);
}

std::string argument_entry(const Arg& arg) {
  constexpr std::string_view kKinds[] = {"operand", "ld", "extent", "scalar", "slice", "map", "number"};
  return fmt::format("{{Kind::{}, {}}}", kKinds[static_cast<std::size_t>(arg.kind)], arg.value);
}

std::string step_entry(const LaunchStep& step) {
  return fmt::format("\n        {{\"{}\", {}, {}, {}, {}, {}, {}, {}, {{{}}}}}", step.kernel, braced_extents(step.grid),
                     braced_extents(step.block), braced_extents(step.cluster), step.smem_bytes, step.resident,
                     step.takes_turns, step.overlaps_previous, joined(step.args, ", ", argument_entry));
}

std::string dimension_entry(const MapDimension& each) {
  return fmt::format("{{{}, {}, {}, {}}}", each.extent, each.box, each.stride.bytes, each.stride.rows);
}

/// The driver's numbers for a map, which do not depend on addresses.
std::string map_entry(const TensorMapSpec& spec, const LaunchPlan& plan, const Problem& problem) {
  Operands nowhere;
  nowhere.ld = packed_leading_dimensions(problem);
  const TensorMapLayout layout = tensor_map(spec, plan, problem, nowhere);
  return fmt::format(
      "\n        {{{}, static_cast<CUtensorMapDataType>({}), {}, static_cast<CUtensorMapSwizzle>({}), "
      "static_cast<CUtensorMapL2promotion>({}), static_cast<CUtensorMapFloatOOBfill>({}), {{{}}}}}",
      argument_entry(spec.base), static_cast<int>(layout.type), layout.element_bytes, static_cast<int>(layout.swizzle),
      static_cast<int>(layout.l2_promotion), static_cast<int>(layout.fill),
      joined(spec.dimensions, ", ", dimension_entry));
}

std::string_view scalar_of(const FormatTraits& format) {
  if (format.integer) return "int32";
  return format.bytes == sizeof(double) ? "fp64" : "fp32";
}

std::string product_entry(const BundledProduct& product) {
  const Problem& p = product.problem;
  const LaunchPlan& plan = product.plan;
  const PrecisionTraits& types = traits(p.precision);
  std::string text = fmt::format("      // {}\n", product.title);
  text += fmt::format("      {{\"{}\", \"{}\", {}, {}, {}, \"{}\",\n", to_string(p.precision), to_string(p.layout), p.m,
                      p.n, p.k, product.file);
  text += fmt::format("       {{{}, {}, {}}}, {{{}, {}, {}}}, Scalar::{}, {},\n", types.a.bytes, types.b.bytes,
                      types.c.bytes, std::max(types.a.bytes, plan.needs.a), std::max(types.b.bytes, plan.needs.b),
                      std::max(types.c.bytes, plan.needs.c), scalar_of(types.scalar), plan.workspace.bytes());
  const auto slice = [](const WorkspaceSlice& each) {
    return fmt::format("{}", each.bytes > 0 ? each.offset_bytes : -1);
  };
  text += fmt::format("       {{{}}},\n", joined(plan.workspace.slices(), ", ", slice));
  text += fmt::format("       {{{}}},\n",
                      joined(plan.maps, ", ", [&](const TensorMapSpec& each) { return map_entry(each, plan, p); }));
  return text + fmt::format("       {{{}}}}},\n", joined(plan.steps, ", ", step_entry));
}

}  // namespace

std::string bundle_header(const std::vector<BundledProduct>& products, const DeviceSpec& device,
                          std::string_view name_space) {
  constexpr std::string_view kOurs = "mmtune_bundle";
  std::string text(embedded::bundle_dispatcher().front().second);
  text.resize(text.rfind(fmt::format("\n}}  // namespace {}", kOurs)));
  for (std::size_t at = 0; (at = text.find(kOurs, at)) != std::string::npos; at += name_space.size()) {
    text.replace(at, kOurs.size(), name_space);
  }
  text += fmt::format("\n/// Tuned on {}.\ninline const std::vector<Product>& products() {{\n", device.name);
  text += "  static const std::vector<Product> all = {\n";
  for (const BundledProduct& product : products) text += product_entry(product);
  return text + fmt::format("  }};\n  return all;\n}}\n\n}}  // namespace {}\n", name_space);
}

}  // namespace mmtune
