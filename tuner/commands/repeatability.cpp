// mmtune repeatability: tune several times from scratch and say how far the winners are the same.
#include "tuner/study/repeatability.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "runtime/log.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/search_options.h"
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
  const auto problems = measure_repeatability({session, options.runs, options.vary_seed});
  print(repeats_table(problems, options.format), options.format, options.color);
  int steady = 0;
  bool complete = problems.size() == session.problems.size();
  double worst = 0;
  for (const auto& [problem, repeats] : problems) {
    steady += repeats.flips == 0 ? 1 : 0;
    complete = complete && repeats.runs == options.runs;
    worst = std::max(worst, repeats.worst_loss);
  }
  log::write(log::Level::warning, fmt::format("same winner or tie in {} of {} sizes; worst loss {:.2f} %", steady,
                                              problems.size(), 100 * worst));
  if (InterruptGuard::requested()) return ExitCode::interrupted;
  return complete ? ExitCode::done : ExitCode::no_candidate;
}

}  // namespace

void add_repeatability(CLI::App& app, Action& action) {
  auto options = std::make_shared<RepeatabilityOptions>();
  auto& verb = *app.add_subcommand("repeatability", "Tune several times from scratch and compare the winners");
  add_search_options(verb, *options);
  verb.add_option("--runs", options->runs, "times to tune")
      ->type_name("NUMBER")
      ->check(CLI::Range(2, 100).description(""))
      ->capture_default_str();
  verb.add_flag("--vary-seed", options->vary_seed, "search with another seed in each run");
  add_output_options(verb, *options);
  add_log_options(verb);
  verb.callback([options, &action] { action = [options] { return repeatability(*options); }; });
}

}  // namespace mmtune
