// mmtune render: exactly the source that NVRTC gets for a configuration, or how it is launched.
#include <mmtune/error.h>

#include <memory>

#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/gpu/nvrtc.h"
#include "templates/family/families.h"
#include "tuner/commands/one_problem.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/export/exported_kernel.h"
#include "tuner/text/files.h"
#include "tuner/tune/preparation.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

struct RenderOptions : Options {
  std::string family;
  std::string size;
  std::string config;
  bool launch = false;
};

/// What NVRTC would compile for, which the source sees as ARCH.
CompileTarget target_of(const DeviceSpec& device) {
  try {
    return compile_target(device, Nvrtc::load().supported());
  } catch (const DeviceError& error) {
    log::warning("{}; rendering for compute capability {}", error.what(), compute_capability(device));
    return compile_target(device, {compute_capability(device)});
  }
}

ExitCode render_source(const RenderOptions& options) {
  const auto& family = family_named(options.family);
  const auto problem = one_problem(options.size, options);
  const auto given = family.parse(options.config);
  const auto device = choose_described_device(options.device);
  const auto config = family.complete(given, problem, device.spec);
  if (!family.legal_plan(problem, config, device.spec)) {
    throw UsageError(explain(family, problem, config, device.spec));
  }
  const Preparation preparation(template_files(), device.spec, target_of(device.spec), Evidence::predicted, "");
  Program program = preparation.program(problem, {&family, config});
  program.binary.target = preparation.target().name;
  print_out(options.launch ? launch_json(program, device.spec) : program.source.text);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_render() {
  auto options = std::make_shared<RenderOptions>();
  Verb verb{.name = "render",
            .group = VerbGroup::inspection,
            .help = "Print the source that is compiled for a configuration, or how it is launched",
            .examples = {"mmtune render simt --size 4096 --config \"BM=128 BN=128\" --device model:h200",
                         "mmtune render tiled --size 100x200x300 --precision int32 --layout tn",
                         "mmtune render wgmma --size 1024 --precision bf16 --device model:h200 --launch"},
            .run = [options] { return render_source(*options); }};
  verb.add("Problem",
           {family_argument(options->family),
            required({"--size,--sizes", "SIZE", "N or MxNxK", text_target(options->size)}),
            {"--config", "CONFIG",
             "\"NAME=VALUE …\"; what is missing gets its default, or the nearest value that goes with these",
             text_target(options->config)},
            flag_option("--launch", "print how the kernel is launched for this size, as JSON, instead of its source",
                        options->launch),
            device_option(*options)});
  verb.add("Problem", problem_options(*options));
  verb.add("Problem", {invariant_option(*options)});
  add_log_options(verb);
  return verb;
}

}  // namespace mmtune
