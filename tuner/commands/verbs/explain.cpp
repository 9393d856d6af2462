// mmtune explain: why a kernel takes the time that it takes.
#include <memory>
#include <utility>
#include <vector>

#include "tuner/commands/described_device.h"
#include "tuner/commands/one_problem.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/inspect/explanation.h"
#include "tuner/inspect/local_compiler.h"
#include "tuner/replay/timed_trials.h"

namespace mmtune {
namespace {

struct ExplainOptions : Options {
  std::string size;
  std::string family;
  std::string config;
};

/// The trials that are stored for the problem on the device, the fastest first.
std::vector<TimedTrial> stored_trials(const ExplainOptions& options, const Problem& problem, const DeviceKey& device) {
  auto store = stored_results(options);
  if (!store) return {};
  for (TimedProblem& each : timed_problems(*store, device)) {
    if (each.problem == problem) return std::move(each.trials);
  }
  return {};
}

ExitCode explain_kernel(const ExplainOptions& options) {
  const auto problem = one_problem(options.size, options);
  const auto device = described_device(options);
  const auto candidate = one_candidate(options.family, options.config, problem, device, options);
  const auto nvrtc = nvrtc_if_installed();
  LocalCompiler compiler(device.spec, evidence_of(device), nvrtc ? &*nvrtc : nullptr);
  Explained explained{.device = device.spec, .program = compiler.program(*candidate.family, candidate.config, problem)};
  for (const auto& [other, trial] : stored_trials(options, problem, key_of(device.spec))) {
    const bool is_this = key_of(other) == key_of(candidate);
    if (is_this) explained.trial = trial;
    if (is_this || explained.runner_up || trial.outcome != Outcome::ok) continue;
    explained.runner_up = other;
    explained.runner_up_us = trial.timing.median_us;
  }
  print(explanation_table(explained), options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_explain() {
  auto options = std::make_shared<ExplainOptions>();
  Verb verb{.name = "explain",
            .group = VerbGroup::results,
            .help = "Why the best kernel of a size takes the time that it takes",
            .examples = {"mmtune explain --size 4096",
                         "mmtune explain --size 4096x64x4096 --device model:a100 --family tiled",
                         "mmtune explain --size 1024 --family simt --config \"BM=64 BN=64\" --device model:h200"},
            .run = [options] { return explain_kernel(*options); }};
  verb.add("Problem",
           {required({"--size,--sizes", "SIZE", "N or MxNxK", text_target(options->size)}), device_option(*options)});
  verb.add("Problem", problem_options(*options));
  verb.add("Problem", {invariant_option(*options)});
  verb.add("Problem", kernel_options(options->family, options->config,
                                     "instead of the stored winner a configuration of this family"));
  verb.add("Problem", {database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
