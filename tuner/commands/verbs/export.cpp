// mmtune export: a kernel for projects that do not use mmtune.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <memory>

#include "db/store.h"
#include "runtime/log.h"
#include "runtime/template_files.h"
#include "templates/families.h"
#include "tuner/commands/one_problem.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/study/exported_kernel.h"
#include "tuner/study/local_compiler.h"
#include "tuner/text/files.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

struct ExportOptions : Options {
  std::string name;  ///< of the files, without .cu
  std::string size;
  std::string family;
  std::string config;
  bool force = false;
};

/// The one that is named, else the stored winner.
Candidate the_candidate(const ExportOptions& options, const Problem& problem, const DeviceChoice& device) {
  if (!options.family.empty()) {
    const Family& family = family_named(options.family);
    return {&family, family.complete(family.parse(options.config), problem, device.spec)};
  }
  const std::string path = database_path(options);
  if (database_exists(path)) {
    auto store = Store::open(path, OpenMode::read_only);
    for (const Evidence evidence : {Evidence::measured, Evidence::predicted}) {
      const auto winner = store.find_winner(key_of(device.spec), problem, evidence);
      if (const auto candidate = winner ? candidate_of(winner->trial.key) : std::nullopt) return *candidate;
    }
  }
  throw UsageError(fmt::format("{}: nothing is tuned for {} on {}; tune it, or name a kernel with --family", path,
                               to_string(problem), device.spec.name));
}

ExitCode export_kernel(const ExportOptions& options) {
  const Problem problem = one_problem(options.size, options);
  const DeviceChoice device = choose_device(options.device);
  const Candidate candidate = the_candidate(options, problem, device);
  const Nvrtc nvrtc = Nvrtc::load();
  LocalCompiler compiler(device.spec, evidence_of(device), &nvrtc);
  const Program program = compiler.program(*candidate.family, candidate.config, problem);
  if (program.binary.cubin.empty()) {
    throw DeviceError(
        fmt::format("NVRTC {} cannot compile for {}; install a newer CUDA toolkit", nvrtc.version(), device.spec.name));
  }
  write_text_file(options.name + ".cu", self_contained(program.source, template_files()), options.force);
  write_text_file(options.name + ".cubin", program.binary.cubin, options.force);
  write_text_file(options.name + ".json", launch_json(program, device.spec), options.force);
  log::info("{0}.cu, {0}.cubin and {0}.json: {1} for {2}", options.name, key_of(candidate), to_string(problem));
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_export() {
  auto options = std::make_shared<ExportOptions>();
  Verb verb{.name = "export",
            .group = VerbGroup::results,
            .help = "Write a kernel as one source file, its machine code and its launch as JSON",
            .examples = {"mmtune export --size 4096 --kernel gemm_4096",
                         "mmtune export --size 512 --kernel gemm --family tiled --device model:h200"},
            .run = [options] { return export_kernel(*options); }};
  verb.add("Problem", {{.names = "--size,--sizes",
                        .value = "SIZE",
                        .help = "N or MxNxK",
                        .target = text_target(options->size),
                        .required = true},
                       device_option(*options)});
  verb.add("Problem", problem_options(*options));
  verb.add("Kernel",
           {{.names = "--kernel",
             .value = "NAME",
             .help = "writes NAME.cu, NAME.cubin and NAME.json",
             .target = file_target(options->name),
             .required = true},
            {.names = "--force", .help = "write over files that exist", .target = flag_target(options->force)},
            {.names = "--family",
             .value = "FAMILY",
             .help = "instead of the stored winner a configuration of this family",
             .target = text_target(options->family)},
            {.names = "--config",
             .value = "CONFIG",
             .help = "\"NAME=VALUE …\"; what is missing gets its default",
             .target = text_target(options->config),
             .needs = "--family"},
            database_option(*options)});
  add_log_options(verb);
  return verb;
}

}  // namespace mmtune
