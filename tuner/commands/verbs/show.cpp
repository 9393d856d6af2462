// mmtune show: the best kernel of every size in the database, or every candidate.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "db/store.h"
#include "runtime/base/log.h"
#include "runtime/call/databases.h"
#include "templates/base/names.h"
#include "templates/family/families.h"
#include "tuner/commands/options.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/trials.h"
#include "tuner/commands/verb.h"
#include "tuner/commands/winners.h"
#include "tuner/text/sizes.h"
#include "tuner/text/text.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

struct ShowOptions : Options {
  bool suspects = false;
  bool trials = false;
  std::string sizes;   ///< empty: all
  std::string family;  ///< empty: all
};

/// Whether the options name a row. Throws UsageError for an unknown family.
auto selection_of(const ShowOptions& options) {
  if (!options.family.empty()) family_named(options.family);
  return [&options, sizes = selected_sizes(options.sizes)](const TrialKey& key) {
    return is_selected(key, options, sizes, options.family);
  };
}

/// "NVIDIA H200: fp32 nn, bf16 nn": what there is to choose from.
std::string contents_of(Store& store) {
  std::map<std::string, std::set<std::string>> types;
  for (const Winner& winner : store.winners()) {
    const auto& [precision, layout] = std::pair(winner.trial.key.problem.precision, winner.trial.key.problem.layout);
    types[winner.trial.key.device.name].insert(fmt::format("{} {}", to_string(precision), to_string(layout)));
  }
  std::vector<std::string> gpus;
  for (const auto& [gpu, its] : types) gpus.push_back(fmt::format("{}: {}", excerpt(gpu), fmt::join(its, ", ")));
  return fmt::format("{}", fmt::join(gpus, "; "));
}

/// The command that would get what was asked for.
std::string tune_command(const ShowOptions& options) {
  std::string text =
      fmt::format("mmtune tune --sizes {}", options.sizes.empty() ? "256..8192" : shell_word(options.sizes));
  const auto add = [&text](const char* option, const auto& values) {
    if (values.empty()) return;
    text += fmt::format(" {} ", option);
    for (const auto value : values) text += fmt::format("{}{}", text.ends_with(' ') ? "" : ",", to_string(value));
  };
  add("--precision", options.precisions);
  add("--layout", options.layouts);
  if (!options.family.empty()) text += fmt::format(" --family {}", options.family);
  return text + database_words(options.database);
}

/// Says why there is nothing.
ExitCode show_nothing(const ShowOptions& options, std::optional<Store>& store, const Table& empty) {
  const std::string contents = store ? contents_of(*store) : "";
  log::warning("{}: {}; run {}", database_path(options),
               contents.empty() ? "no results" : fmt::format("no results that match; it has {}", contents),
               tune_command(options));
  print(empty, options);
  return ExitCode::done;
}

ExitCode show_trials(const ShowOptions& options) {
  const auto selects = selection_of(options);
  auto store = stored_results(options);
  auto trials = store ? store->trials() : std::vector<Trial>{};
  std::erase_if(trials, [&](const Trial& trial) { return !selects(trial.key); });
  if (trials.empty()) return show_nothing(options, store, trials_table({}, options));
  print(trials_table(std::move(trials), options), options);
  return ExitCode::done;
}

ExitCode show(const ShowOptions& options) {
  const auto selects = selection_of(options);
  auto store = stored_results(options);
  auto winners = store ? store->winners() : std::vector<Winner>{};
  std::erase_if(winners, [&](const Winner& winner) { return !selects(winner.trial.key); });
  winners = best_evidence(std::move(winners));
  if (winners.empty()) return show_nothing(options, store, winners_table({}, {}, options));
  print(winners_table(winners, states_of(winners, installed_compiler()), options), options);
  return ExitCode::done;
}

ExitCode show_suspects(const ShowOptions& options) {
  Table table({left("gpu"), left("driver", Fit::wraps), left("family"), left("config", Fit::wraps), right("kills"),
               right("set_aside"), left("last"), left("source_hash", Fit::spare)});
  Store store = Store::open(database_path(options), OpenMode::read_only);
  for (const Suspect& each : store.suspects()) {
    if (!contains_in_any_case(each.device.name, options.device)) continue;
    const bool is_set_aside = each.kills >= kMostKills;
    table.add({each.device.name, each.driver, each.family, each.config, each.kills, is_set_aside, each.last,
               each.source_hash},
              is_set_aside ? Tone::bad : Tone::caution);
  }
  for (const LostCompile& each : store.lost_compiles()) {
    if (!contains_in_any_case(each.target, options.device)) continue;
    const bool is_set_aside = each.losses >= kMostLosses;
    table.add({each.target, "NVRTC " + each.nvrtc, each.family, each.config, each.losses, is_set_aside, each.last,
               each.source_hash},
              is_set_aside ? Tone::bad : Tone::caution);
  }
  if (table.row_count() == 0) log::warning("{}: no candidate ended its process or the machine", store.path());
  print(table, options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_show() {
  auto options = std::make_shared<ShowOptions>();
  Verb verb{.name = "show",
            .group = VerbGroup::results,
            .help = "Show the best kernel of every size in the database, or every candidate",
            .examples = {"mmtune show", "mmtune show --device h200 --precision fp32 --format csv > tune_fp32.csv",
                         "mmtune show --trials --sizes 1024 --family tiled", "mmtune show --set-aside"},
            .run = [options] {
              if (options->suspects) return show_suspects(*options);
              return options->trials ? show_trials(*options) : show(*options);
            }};
  verb.add("Options", selection_options(*options));
  verb.add(
      "Options",
      {flag_option("--set-aside", "instead, candidates that ended their process or the machine", options->suspects),
       never_with(
           "--set-aside",
           flag_option("--trials", "instead, every candidate that was tried, and what became of it", options->trials)),
       {"--family", "FAMILY", "only results of this kernel family", family_target(options->family)}});
  verb.add("Options", {selected_sizes_option(options->sizes), database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
