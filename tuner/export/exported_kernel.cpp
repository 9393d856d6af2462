#include "tuner/export/exported_kernel.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "templates/base/joined.h"
#include "templates/base/letters.h"
#include "tuner/text/json.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// Appends a text whose headers come first, each once.
void append(std::string& all, std::string_view text, const TemplateFiles& files, std::set<std::string>& seen) {
  constexpr std::string_view kInclude = "#include \"";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(kInclude)) {
      const std::string name(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()));
      if (seen.insert(name).second) append(all, files.device_headers().at(name), files, seen);
    } else if (!line.starts_with("#pragma once") && !line.starts_with("#line")) {
      all.append(line) += '\n';
    }
  }
}

std::string_view name_of(MapFormat format) {
  constexpr std::string_view kNames[] = {"bits8", "bits16", "bits32", "bits64", "i32",
                                         "f16",   "bf16",   "f32",    "tf32",   "f64"};
  return kNames[static_cast<std::size_t>(format)];
}

std::string triple(const Extent3& extent) { return fmt::format("[{}, {}, {}]", extent.x, extent.y, extent.z); }

std::string step_text(const LaunchStep& step) {
  return fmt::format(
      "\n    {{\"kernel\": {}, \"grid\": {}, \"block\": {}, \"cluster\": {}, \"smem_bytes\": {}, \"cooperative\": {}, "
      "\"takes_turns\": {}, \"overlaps_previous\": {}, \"arguments\": [{}]}}",
      json_string(step.kernel), triple(step.grid), triple(step.block), triple(step.cluster), step.smem_bytes,
      step.resident, step.takes_turns, step.overlaps_previous,
      joined(step.args, ", ", [](const Arg& arg) { return json_string(to_string(arg)); }));
}

std::string map_text(const TensorMapSpec& map) {
  const auto dimension = [](const MapDimension& each) {
    return fmt::format("{{\"extent\": {}, \"box\": {}, \"stride_bytes\": {}, \"stride_rows\": {}}}", each.extent,
                       each.box, each.stride.bytes, each.stride.rows);
  };
  return fmt::format(
      "\n    {{\"name\": {}, \"base\": {}, \"format\": \"{}\", \"swizzle_bytes\": {}, \"fills_with_nan\": {}, "
      "\"l2_promotion_bytes\": {}, \"dimensions\": [{}]}}",
      json_string(map.name), json_string(to_string(map.base)), name_of(map.format), map.swizzle_bytes,
      map.fills_with_nan, map.l2_promotion_bytes, joined(map.dimensions, ", ", dimension));
}

std::string slice_text(const WorkspaceSlice& slice) {
  return fmt::format("{{\"name\": {}, \"offset_bytes\": {}, \"bytes\": {}}}", json_string(slice.name),
                     slice.offset_bytes, slice.bytes);
}

}  // namespace

void check_kernel_name(const std::string& name) {
  const std::filesystem::path path(name);
  const std::string file = path.filename().string();
  const auto is_allowed = [](char c) { return is_of_name(c) || c == '-' || c == '.'; };
  const bool leads_up = std::find(path.begin(), path.end(), "..") != path.end();
  if (!leads_up && !file.empty() && is_of_name(file.front()) && file.front() != '_' &&
      std::all_of(file.begin(), file.end(), is_allowed)) {
    return;
  }
  throw UsageError(
      fmt::format("--kernel '{}': write a name of letters, digits, '_', '-' and '.' that begins with a letter or a "
                  "digit, in a folder without '..'",
                  excerpt(name)));
}

std::string self_contained(const Source& source, const TemplateFiles& files) {
  std::string all;
  std::set<std::string> seen;
  append(all, source.text, files, seen);
  return all;
}

std::string launch_json(const Program& program, const DeviceSpec& device) {
  const Problem& problem = program.key.problem;
  const LaunchPlan& plan = program.plan;
  std::string text = fmt::format(
      "{{\n  \"precision\": \"{}\",\n  \"layout\": \"{}\",\n  \"m\": {},\n  \"n\": {},\n  \"k\": {},\n"
      "  \"family\": {},\n  \"config\": {},\n  \"device\": {},\n  \"target\": {},\n  \"source_hash\": {},\n",
      to_string(problem.precision), to_string(problem.layout), problem.m, problem.n, problem.k,
      json_string(program.key.family), json_string(program.key.config), json_string(device.name),
      json_string(program.binary.target), json_string(program.source.hash));
  text += fmt::format("  \"alignment_bytes\": {{\"A\": {}, \"B\": {}, \"C\": {}}},\n", plan.needs.a, plan.needs.b,
                      plan.needs.c);
  text += fmt::format("  \"workspace\": {{\"bytes\": {}, \"alignment_bytes\": {}, \"slices\": [{}]}},\n",
                      plan.workspace.bytes(), WorkspaceLayout::kAlignment,
                      joined(plan.workspace.slices(), ", ", slice_text));
  text += fmt::format("  \"tensor_maps\": [{}],\n", joined(plan.maps, ", ", map_text));
  return text + fmt::format("  \"steps\": [{}]\n}}\n", joined(plan.steps, ", ", step_text));
}

}  // namespace mmtune
