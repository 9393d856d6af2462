// mmtune render: exactly the source that NVRTC gets for a configuration.
#include "templates/render.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "runtime/log.h"
#include "runtime/nvrtc.h"
#include "runtime/template_files.h"
#include "templates/families.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/options.h"
#include "tuner/devices/device_choice.h"
#include "tuner/text/sizes.h"

namespace mmtune {
namespace {

struct RenderOptions : Options {
  std::string family;
  std::string size;
  std::string config;
};

Problem the_problem(const RenderOptions& options) {
  const auto sizes = parse_sizes(options.size);
  if (sizes.size() != 1 || options.precisions.size() != 1 || options.layouts.size() != 1) {
    throw UsageError(fmt::format("--size '{}' with these --precision and --layout makes {} sources; name one of each",
                                 options.size, sizes.size() * options.precisions.size() * options.layouts.size()));
  }
  return packed_problem(options.precisions[0], options.layouts[0], sizes[0].m, sizes[0].n, sizes[0].k);
}

/// The architecture that NVRTC would compile for, which the source sees as ARCH.
int target_of(const DeviceSpec& device) {
  try {
    return compile_target(device, Nvrtc::load().supported()).compute_capability;
  } catch (const DeviceError& error) {
    log::warning("{}; rendering for compute capability {}", error.what(), compute_capability(device));
    return compute_capability(device);
  }
}

ExitCode render_source(const RenderOptions& options) {
  const auto& family = family_named(options.family);
  const auto problem = the_problem(options);
  const auto config = family.complete(Config::parse(options.config), problem);
  const auto device = choose_device(options.device);
  if (!family.broken_rule(problem, config, device.spec).empty()) {
    throw UsageError(explain(family, problem, config, device.spec));
  }
  fmt::print("{}", render(template_files(), family, problem, config, device.spec, target_of(device.spec)).text);
  return ExitCode::done;
}

}  // namespace

void add_render(CLI::App& app, Action& action) {
  auto options = std::make_shared<RenderOptions>();
  auto& verb = *app.add_subcommand("render", "Print the source that is compiled for a configuration");
  verb.add_option("family", options->family, "a kernel family")->type_name("FAMILY")->required();
  verb.add_option("--size", options->size, "N or MxNxK")->type_name("SIZE")->required();
  verb.add_option("--config", options->config, "\"NAME=VALUE …\"; what is missing gets its default")
      ->type_name("CONFIG");
  add_device_option(verb, *options);
  add_problem_options(verb, *options);
  add_log_options(verb);
  verb.callback([options, &action] { action = [options] { return render_source(*options); }; });
}

}  // namespace mmtune
