// mmtune export: kernels for projects that do not use mmtune.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <filesystem>
#include <memory>
#include <set>

#include "db/store.h"
#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/choose/dispatch.h"
#include "templates/base/letters.h"
#include "tuner/commands/described_device.h"
#include "tuner/commands/one_problem.h"
#include "tuner/commands/options.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/export/exported_kernel.h"
#include "tuner/export/kernel_bundle.h"
#include "tuner/inspect/local_compiler.h"
#include "tuner/text/files.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

struct ExportOptions : Options {
  std::string name;    ///< the name of the files of one kernel, without .cu
  std::string bundle;  ///< the directory
  std::string size;
  std::string family;
  std::string config;
  bool force = false;
};

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// "mmtune_gemm_4096" of "gemm-4096".
std::string identifier(const std::string& name) {
  std::string text = "mmtune_" + name;
  for (char& c : text) {
    if (!is_of_name(c)) c = '_';
  }
  return text;
}

ExitCode export_kernel(const ExportOptions& options) {
  check_kernel_name(options.name);
  if (options.size.empty()) throw UsageError("--kernel: needs --size, the problem that it is for");
  const Problem problem = one_problem(options.size, options);
  const DeviceChoice device = described_device(options);
  const Candidate candidate = one_candidate(options.family, options.config, problem, device, options);
  const Nvrtc nvrtc = Nvrtc::load();
  LocalCompiler compiler(device.spec, evidence_of(device), &nvrtc);
  const Program program = compiler.program(*candidate.family, candidate.config, problem);
  if (program.binary.cubin.empty()) {
    throw DeviceError(
        fmt::format("NVRTC {} cannot compile for {}; install a newer CUDA toolkit", nvrtc.version(), device.spec.name));
  }
  NewFiles files(options.force);
  files.add(options.name + ".cu", self_contained(program.source, template_files()));
  files.add(options.name + ".cubin", program.binary.cubin);
  files.add(options.name + ".json", launch_json(program, device.spec));
  const BundledProduct product{problem, program.plan, key_of(candidate), file_name(options.name) + ".cubin"};
  files.add(options.name + ".h", bundle_header({product}, device.spec, identifier(file_name(options.name))));
  files.publish();
  log::warning("{0}.cu, {0}.cubin, {0}.json and {0}.h: {1} for {2} on {3}", options.name, key_of(candidate),
               to_string(problem), device.spec.name);
  log::warning("next: include {0}.h, which says how it is used, or: nvcc -std=c++17 -arch={1} -cubin {0}.cu",
               options.name, program.binary.target);
  return ExitCode::done;
}

ExitCode export_bundle(const ExportOptions& options) {
  const DeviceSpec device = described_device(options).spec;
  const auto sizes = selected_sizes(options.size);
  auto store = Store::open(database_path(options), OpenMode::read_only);
  std::vector<Entry> winners = load_kernels(store, device, template_files()).winners;
  std::erase_if(winners, [&](const Entry& entry) { return !is_selected(entry.problem, options, sizes); });
  if (winners.empty()) {
    throw UsageError(
        fmt::format("{}: has none of these for {}; tune them, or name others with --size, --precision and "
                    "--layout",
                    store.path(), device.name));
  }
  std::error_code error;
  std::filesystem::create_directories(options.bundle, error);
  if (error) {
    throw Error(fmt::format("--bundle '{}': {}; check the folder's path and rights", options.bundle, error.message()));
  }
  const auto file = [&](const std::string& name) { return options.bundle + '/' + name; };
  NewFiles files(options.force);
  std::set<std::string> written;
  std::vector<BundledProduct> products;
  for (const auto& [problem, kernel, time_us, measured, cublas_ratio] : winners) {
    products.push_back({problem, kernel->family->plan(problem, kernel->config, device),
                        fmt::format("{} {}", kernel->family->name(), kernel->config.text()),
                        kernel->binary_hash + ".cubin"});
    if (!written.insert(kernel->binary_hash).second) continue;
    const auto binary = store.find_binary(kernel->binary_hash);
    if (!binary) throw DatabaseError(fmt::format("{}: has lost machine code; run `mmtune db check`", store.path()));
    files.add(file(products.back().file), binary->cubin);
  }
  files.add(file("mmtune_bundle.h"), bundle_header(products, device, "mmtune_bundle"));
  files.publish();
  log::warning("{}: {} for {}, with {} in .cubin files beside it", file("mmtune_bundle.h"),
               counted(std::ssize(winners), "size"), device.name, counted(std::ssize(written), "kernel"));
  log::warning("next: include it, which says how it is used, and compile with -I{} -lcuda", options.bundle);
  return ExitCode::done;
}

ExitCode export_code(const ExportOptions& options) {
  if (options.name.empty() == options.bundle.empty()) {
    throw UsageError(
        "export: write --kernel NAME for one kernel with its source, or --bundle DIR for all stored winners; see "
        "mmtune export --help");
  }
  return options.bundle.empty() ? export_kernel(options) : export_bundle(options);
}

}  // namespace

Verb mmtune_verb_export() {
  auto options = std::make_shared<ExportOptions>();
  Verb verb{.name = "export",
            .group = VerbGroup::results,
            .help = "Write kernels for projects without mmtune: one with its source, or many with a header",
            .examples = {"mmtune export --bundle gemm --precision fp16,bf16 --layout all",
                         "mmtune export --size 4096 --kernel gemm_4096",
                         "mmtune export --size 512 --kernel gemm --family tiled --device model:h200"},
            .run = [options] { return export_code(*options); }};
  verb.add("Problem", {{"--size,--sizes", "SIZE", "of the kernel: N or MxNxK; of a bundle, where not all",
                        text_target(options->size)},
                       device_option(*options)});
  verb.add("Problem", problem_options(*options));
  verb.add("Kernel", {never_with("--bundle", {"--kernel", "NAME", "writes NAME.cu, NAME.cubin, NAME.json and NAME.h",
                                              file_target(options->name)}),
                      {"--bundle", "DIR", "writes a C++ header and the machine code of all stored winners",
                       file_target(options->bundle)},
                      flag_option("--force", "write over files that exist", options->force)});
  verb.add("Kernel", kernel_options(options->family, options->config,
                                    "instead of the stored winner a configuration of this family"));
  verb.add("Kernel", {database_option(*options)});
  add_log_options(verb);
  return verb;
}

}  // namespace mmtune
