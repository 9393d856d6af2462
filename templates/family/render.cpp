#include "templates/family/render.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "templates/base/hash.h"
#include "templates/family/kernel_parameters.h"
#include "templates/problem/dtype.h"

namespace mmtune {

namespace embedded {

const std::vector<std::pair<std::string_view, std::string_view>>& mmtune_templates();  // This is generated.

}  // namespace embedded

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDeviceFolder = "templates/device/";
constexpr std::string_view kIncludePrefix = "mmtune/";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw Error(fmt::format("{}: cannot be read; check its permissions", path.string()));
  return text;
}

void collect_includes(std::string_view text, const std::map<std::string, std::string>& headers,
                      std::set<std::string>& found) {
  constexpr std::string_view kInclude = "#include \"";
  for (std::size_t at = text.find(kInclude); at != std::string_view::npos; at = text.find(kInclude, at)) {
    at += kInclude.size();
    const auto header = headers.find(std::string(text.substr(at, text.find('"', at) - at)));
    if (header == headers.end() || !found.insert(header->first).second) continue;
    collect_includes(header->second, headers, found);
  }
}

std::string hash_of(std::string_view text, const TemplateFiles& files) {
  ContentHash hash;
  hash.add(text);
  for (const std::string& name : included_headers(text, files)) hash.add(name).add(files.device_headers().at(name));
  return hash.hex();
}

std::string operand_types(Precision precision) {
  const PrecisionTraits& types = traits(precision);
  return fmt::format("using InputA = {};\nusing InputB = {};\nusing Output = {};\nusing Accumulator = {};\n",
                     types.a.type, types.b.type, types.c.type, types.accumulator.type);
}

std::string scalar_type(Precision precision) {
  return fmt::format("using Scalar = {};\n", traits(precision).scalar.type);
}

// Not every kernel uses every constant.
std::string constant(const Constant& of, std::string_view help) {
  const std::string value = of.is_bool ? (of.value != 0 ? "true" : "false") : fmt::format("{}", of.value);
  return fmt::format("[[maybe_unused]] constexpr {} {} = {};{}{}\n", of.is_bool ? "bool" : "int", of.name, value,
                     help.empty() ? "" : "  // ", help);
}

const Constant* find_constant(const LaunchPlan& plan, std::string_view name) {
  const auto found = std::find_if(plan.constants.begin(), plan.constants.end(),
                                  [&](const Constant& each) { return each.name == name; });
  return found == plan.constants.end() ? nullptr : &*found;
}

/// What the source depends on: without the parameters for which the plan has other constants.
Config rendered_settings(const Config& config, const LaunchPlan& plan) {
  std::vector<Setting> settings = config.settings();
  std::erase_if(settings, [&](const Setting& each) { return find_constant(plan, each.name) != nullptr; });
  return Config(std::move(settings));
}

std::string parameter_constants(const Family& family, const Config& config, const LaunchPlan& plan) {
  std::string text;
  for (const ParamInfo& param : family.params()) {
    const int* value = config.find(param.name);
    if (!value) {
      throw Error(fmt::format("{} {}: {} has no value; complete the configuration before rendering it", family.name(),
                              config.text(), param.name));
    }
    if (find_constant(plan, param.name) != nullptr) continue;
    const auto name = param.name_of(*value);
    text += constant({param.name, *value}, name.empty() ? param.help : fmt::format("{}: {}", param.help, name));
  }
  return text;
}

/// The type of alpha and beta, and with it what stores results (templates/device/fused.cuh).
std::string fused_scalar(Precision precision, const Fusion& fusion) {
  std::string text = fmt::format("using Number = {};\n", traits(precision).scalar.type);
  text += constant({"BIAS", static_cast<int>(fusion.bias)}, to_string(fusion.bias));
  text += constant({"ACTIVATION", static_cast<int>(fusion.activation)}, to_string(fusion.activation));
  text += constant({"LOADS_SCALARS", fusion.loads_scalars}, "alpha and beta are addresses");
  return text + "#include \"mmtune/fused.cuh\"\n";
}

/// What every source begins with.
std::string named_types(Precision precision, const Fusion& fusion) {
  std::string text = "#include \"mmtune/numeric.cuh\"\n\n";
  text += operand_types(precision);
  text += constant({"BATCHED", fusion.batched}, "blocks' third coordinates are products");
  text += fusion.extends_scalars() ? fused_scalar(precision, fusion) : scalar_type(precision);
  return text + "\n";
}

/// The text before the kernel: types and named constants.
std::string prologue(const Family& family, const Problem& problem, const Config& config, const LaunchPlan& plan,
                     int target, const Fusion& fusion) {
  std::string text = fmt::format("// {} {} for {} {}{}{}\n", family.name(), rendered_settings(config, plan).text(),
                                 to_string(problem.precision), to_string(problem.layout),
                                 fusion.is_empty() ? "" : " with ", to_string(fusion));
  text += named_types(problem.precision, fusion);
  text += constant({"ARCH", target}, "compute capability compiled for");
  text += constant({"TRANSPOSE_A", transposes_a(problem.layout)}, "A is stored as A[k,m]");
  text += constant({"TRANSPOSE_B", transposes_b(problem.layout)}, "B is stored as B[n,k]");
  text += parameter_constants(family, config, plan);
  for (const Constant& each : plan.constants) text += constant(each, "");
  text += constant({"THREADS", block_threads(main_step(plan))}, "per block");
  text += constant({"SMEM_BYTES", main_step(plan).smem_bytes}, "dynamic shared memory per block");
  return text;
}

std::string file_of(const Family& family, std::string_view name) {
  return fmt::format("templates/families/{}/{}", family.name(), name);
}

std::string with_its_name(const std::string& path, const TemplateFiles& files) {
  return fmt::format("#line 1 \"{}\"\n{}", path, files.text(path));
}

std::string kernel_of(const Family& family, const TemplateFiles& files) {
  return with_its_name(file_of(family, "kernel.cu"), files);
}

/// How a family that stores results in a way of its own gives them an epilogue.
std::string own_fusion(const Family& family, const TemplateFiles& files) {
  const std::string path = file_of(family, "fused.cuh");
  return files.texts().contains(path) ? with_its_name(path, files) : "";
}

/// What a plan passes must be what its kernels expect. Throws Error for kernels that it does not fit.
void require_arguments(const std::string& path, std::string_view kernels, const LaunchPlan& plan) {
  if (const std::string fault = argument_fault(plan, declared_kernels(kernels)); !fault.empty()) {
    throw Error(fmt::format("{}: {}; kernel and plan must name the same arguments in the same order", path, fault));
  }
}

void require_launchable(const Family& family, const Config& config, const LaunchPlan& plan) {
  if (const std::string fault = plan_fault(plan); !fault.empty()) {
    throw std::logic_error(fmt::format("{} {}: its plan cannot be launched: {}", family.name(), config.text(), fault));
  }
}

}  // namespace

std::string type_names(Precision precision) { return operand_types(precision) + scalar_type(precision); }

TemplateFiles::TemplateFiles(std::map<std::string, std::string> files) : files_(std::move(files)) {
  for (const auto& [path, text] : files_) {
    if (!path.starts_with(kDeviceFolder)) continue;
    device_headers_.emplace(std::string(kIncludePrefix) + path.substr(kDeviceFolder.size()), text);
  }
}

const TemplateFiles& TemplateFiles::embedded() {
  static const TemplateFiles files = [] {
    std::map<std::string, std::string> texts;
    for (const auto& [path, text] : embedded::mmtune_templates()) texts.emplace(path, text);
    return TemplateFiles(std::move(texts));
  }();
  return files;
}

TemplateFiles TemplateFiles::from_directory(const std::string& root) {
  std::map<std::string, std::string> texts;
  for (const char* folder : {"templates/device", "templates/families"}) {
    std::error_code none;  // A missing folder is an empty one.
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(root) / folder, none)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".cu" && extension != ".cuh") continue;
      texts.emplace(entry.path().lexically_relative(root).generic_string(), read_file(entry.path()));
    }
  }
  if (texts.empty()) {
    throw UsageError(fmt::format(
        "'{}' holds no kernel sources; let MMTUNE_TEMPLATE_DIR be the root of a source tree, or leave it unset", root));
  }
  return TemplateFiles(std::move(texts));
}

std::string_view TemplateFiles::text(const std::string& path) const {
  const auto file = files_.find(path);
  if (file == files_.end()) {
    throw Error(fmt::format("{}: not among the kernel sources; the family's folder needs this file", path));
  }
  return file->second;
}

std::set<std::string> included_headers(std::string_view text, const TemplateFiles& files) {
  std::set<std::string> found;
  collect_includes(text, files.device_headers(), found);
  return found;
}

Source render(const TemplateFiles& files, const Family& family, const Problem& problem, const Config& config,
              const LaunchPlan& plan, int target, const Fusion& fusion) {
  require_launchable(family, config, plan);
  const std::string kernel = file_of(family, "kernel.cu");
  require_arguments(kernel, files.text(kernel), plan);
  Source source;
  source.name = family.name();
  source.text = prologue(family, problem, config, plan, target, fusion);
  if (fusion.extends_scalars()) source.text += own_fusion(family, files);
  source.text += kernel_of(family, files);
  source.hash = hash_of(source.text, files);
  return source;
}

LaunchPlan finish_plan(const Problem& problem) {
  constexpr int kThreads = 256;                  // threads of a block
  constexpr std::int64_t kMostBlocks = 1 << 16;  // many times what any GPU holds at once
  const std::int64_t blocks =
      std::clamp<std::int64_t>((problem.m * problem.n + kThreads - 1) / kThreads, 1, kMostBlocks);
  LaunchStep finish;
  finish.kernel = "finish";
  finish.grid.x = blocks;
  finish.block.x = kThreads;
  finish.args = {Arg::extent(Extent::m),   Arg::extent(Extent::n), Arg::scalar(Scalar::beta),
                 Arg::operand(Operand::c), Arg::ld(Operand::c),    Arg::number(blocks * kThreads).as("threads")};
  LaunchPlan plan;
  plan.constants = {{"FINISH_THREADS", kThreads}};
  plan.steps = {finish};
  return plan;
}

Source render_finish(const TemplateFiles& files, const Problem& problem, int target, const Fusion& fusion) {
  const LaunchPlan plan = finish_plan(problem);
  require_arguments("templates/device/finish.cuh", files.device_headers().at("mmtune/finish.cuh"), plan);
  Source source;
  source.name = "finish";
  source.text = fmt::format("// {} for {}\n", to_string(fusion), to_string(problem.precision));
  source.text += named_types(problem.precision, fusion);
  source.text += constant({"ARCH", target}, "compute capability compiled for");
  for (const Constant& each : plan.constants) source.text += constant(each, "");
  source.text += "#include \"mmtune/finish.cuh\"\n";
  source.hash = hash_of(source.text, files);
  return source;
}

std::string SourceHashes::hash(const Family& family, const Problem& problem, const Config& config,
                               const LaunchPlan& plan, int target) {
  require_launchable(family, config, plan);
  const std::string begin = prologue(family, problem, config, plan, target, Fusion{});
  Ending& ending = ending_of(family, begin);
  ContentHash hash;
  hash.add_bytes(count_bytes(begin.size() + ending.kernel_bytes)).add_bytes(begin);
  ending.bytes.add_to(hash);
  return hash.hex();
}

/// Every prologue includes the same header.
SourceHashes::Ending& SourceHashes::ending_of(const Family& family, const std::string& prologue) {
  if (const auto known = endings_.find(&family); known != endings_.end()) return known->second;
  const std::string kernel = kernel_of(family, files_);
  std::string bytes = kernel;
  const auto add = [&](std::string_view text) { bytes.append(count_bytes(text.size())).append(text); };
  for (const std::string& name : included_headers(prologue + kernel, files_)) {
    add(name);
    add(files_.device_headers().at(name));
  }
  return endings_.emplace(&family, Ending{kernel.size(), RepeatedBytes(std::move(bytes))}).first->second;
}

}  // namespace mmtune
