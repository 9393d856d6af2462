// mmtune repeatability: tune several times from scratch and say how far the winners are the same.
#include "tuner/compare/repeatability.h"

#include <mmtune/error.h>

#include <algorithm>
#include <memory>

#include "runtime/base/log.h"
#include "tuner/commands/search_options.h"
#include "tuner/commands/verb.h"
#include "tuner/workers/interrupt.h"

namespace mmtune {
namespace {

struct RepeatabilityOptions : SearchOptions {
  int runs = 5;
  bool vary_seed = false;
};

ExitCode repeatability(const RepeatabilityOptions& options) {
  if (options.precisions.size() * options.layouts.size() != 1) {
    throw UsageError("repeatability compares one precision and one layout at a time; name one of each");
  }
  const SessionOptions session = plan(options);
  const InterruptGuard interrupts;
  const auto problems = measure_repeatability({session, options.runs, options.vary_seed});
  print(repeats_table(problems, options.format), options);
  int steady = 0;
  bool complete = problems.size() == session.problems.size();
  double worst = 0;
  for (const auto& [problem, repeats] : problems) {
    steady += repeats.flips == 0 ? 1 : 0;
    complete = complete && repeats.runs == options.runs;
    worst = std::max(worst, repeats.worst_loss);
  }
  log::warning("same winner or tie in {} of {} sizes; worst loss {:.2f} %", steady, problems.size(), 100 * worst);
  if (InterruptGuard::requested()) return ExitCode::interrupted;
  return complete ? ExitCode::done : ExitCode::no_candidate;
}

}  // namespace

Verb mmtune_verb_repeatability() {
  auto options = std::make_shared<RepeatabilityOptions>();
  Verb verb{.name = "repeatability",
            .group = VerbGroup::tuning,
            .help = "Tune several times from scratch and compare the winners",
            .examples = {"mmtune repeatability --device 0 --sizes 256..8192 --runs 5"},
            .run = [options] { return repeatability(*options); }};
  add_search_options(verb, *options);
  verb.add("Options", {{"--runs", "NUMBER", "times to tune, 2 to 100", number_target(options->runs, 2, 100)},
                       flag_option("--vary-seed", "search with another seed in each run", options->vary_seed)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
