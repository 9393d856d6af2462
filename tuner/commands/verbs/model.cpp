// mmtune model: how good the analytic model is, held against what a database has measured.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <memory>

#include "db/store.h"
#include "runtime/log.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/study/model_quality.h"
#include "tuner/text/sizes.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

struct ModelOptions : Options {
  std::string sizes;
  int least = 16;
};

ExitCode model(const ModelOptions& options) {
  const auto device = choose_device(options.device);
  const auto sizes = options.sizes.empty() ? std::vector<Size>{} : parse_sizes(options.sizes);
  Store store = Store::open(database_path(options), OpenMode::read_only);
  std::vector<ModelQuality> rows;
  for (const TimedProblem& each : timed_problems(store, key_of(device.spec))) {
    const Problem& problem = each.problem;
    const bool wanted = is_wanted(options.precisions, problem.precision) &&
                        is_wanted(options.layouts, problem.layout) &&
                        is_wanted(sizes, Size{problem.m, problem.n, problem.k});
    const auto best = each.best();
    if (!wanted || best == nullptr || best->trial.key.evidence != Evidence::measured) continue;
    if (static_cast<int>(each.trials.size()) < options.least) continue;
    rows.push_back(quality_of(each, device.spec));
  }
  print(quality_table(rows, options.format), options);
  if (rows.empty()) {
    log::error("{}: no size of {} with {} measured configurations; run mmtune tune there", store.path(),
               device.spec.name, options.least);
    return ExitCode::no_candidate;
  }
  log::write(log::Level::warning, quality_summary(rows));
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_model() {
  auto options = std::make_shared<ModelOptions>();
  options->precisions.clear();
  options->layouts.clear();
  Verb verb{.name = "model",
            .group = VerbGroup::results,
            .help = "How good the analytic model is, held against stored times",
            .examples = {"mmtune model --device model:h200", "mmtune model --device 0 --sizes 256..8192 --format csv"},
            .run = [options] { return model(*options); }};
  auto sizes = sizes_option(options->sizes);
  sizes.required = false;
  verb.add("Problems", {std::move(sizes), device_option(*options)});
  verb.add("Problems", problem_options(*options));
  verb.add("Problems", {{.names = "--least",
                         .value = "NUMBER",
                         .help = "sizes with fewer measured configurations are left out",
                         .target = number_target(options->least, 2, 1 << 20)},
                        database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
