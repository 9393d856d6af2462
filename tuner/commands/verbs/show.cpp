// mmtune show: the best kernel of every size in the database, or every candidate.
#include <algorithm>
#include <memory>
#include <optional>

#include "db/store.h"
#include "runtime/base/log.h"
#include "templates/family/families.h"
#include "tuner/commands/options.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/trials.h"
#include "tuner/commands/verb.h"
#include "tuner/commands/winners.h"
#include "tuner/text/sizes.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

struct ShowOptions : Options {
  bool suspects = false;
  bool trials = false;
  std::string sizes;   ///< empty: all
  std::string family;  ///< likewise
};

/// Which rows the options name.
class Selection {
 public:
  explicit Selection(const ShowOptions& options) : options_(options) {
    if (!options.sizes.empty()) sizes_ = parse_sizes(options.sizes);
    if (!options.family.empty()) family_named(options.family);
  }

  bool has(const TrialKey& key) const {
    const Problem& problem = key.problem;
    return is_selected(key, options_) && is_wanted(sizes_, Size{problem.m, problem.n, problem.k}) &&
           (options_.family.empty() || options_.family == key.family);
  }

 private:
  const ShowOptions& options_;
  std::vector<Size> sizes_;
};

/// No database yet is no error, unless the user named one: then there is no store.
std::optional<Store> store_of(const Options& options) {
  const auto path = database_path(options);
  if (options.database.empty() && !database_exists(path)) return std::nullopt;
  return Store::open(path, OpenMode::read_only);
}

void warn_of_nothing(const Options& options) {
  log::warning("{}: no results that match; run mmtune --device auto --sizes 256..8192 to get some",
               database_path(options));
}

std::vector<Winner> selected(const ShowOptions& options) {
  const Selection selection(options);
  auto store = store_of(options);
  if (!store) return {};
  auto winners = store->winners();
  std::erase_if(winners, [&](const Winner& winner) { return !selection.has(winner.trial.key); });
  return best_evidence(std::move(winners));
}

ExitCode show_trials(const ShowOptions& options) {
  const Selection selection(options);
  auto store = store_of(options);
  auto trials = store ? store->trials() : std::vector<Trial>{};
  std::erase_if(trials, [&](const Trial& trial) { return !selection.has(trial.key); });
  if (trials.empty()) warn_of_nothing(options);
  print(trials_table(std::move(trials), options.format), options);
  return ExitCode::done;
}

ExitCode show(const ShowOptions& options) {
  const auto winners = selected(options);
  if (winners.empty()) warn_of_nothing(options);
  print(winners_table(winners, states_of(winners, installed_compiler()), options), options);
  return ExitCode::done;
}

ExitCode show_suspects(const ShowOptions& options) {
  Table table({{"gpu"},
               {"driver"},
               {"family"},
               {"config", Align::left, Fit::wraps},
               {"kills", Align::right},
               {"set_aside", Align::right},
               {"last"},
               {"source_hash"}});
  Store store = Store::open(database_path(options), OpenMode::read_only);
  for (const Suspect& each : store.suspects()) {
    if (!contains_in_any_case(each.device.name, options.device)) continue;
    const bool is_set_aside = each.kills >= kMostKills;
    table.add({each.device.name, each.driver, each.family, each.config, std::int64_t{each.kills},
               std::int64_t{is_set_aside ? 1 : 0}, each.last, each.source_hash},
              is_set_aside ? Tone::bad : Tone::caution);
  }
  for (const LostCompile& each : store.lost_compiles()) {
    if (!contains_in_any_case(each.target, options.device)) continue;
    const bool is_set_aside = each.losses >= kMostLosses;
    table.add({each.target, "NVRTC " + each.nvrtc, each.family, each.config, std::int64_t{each.losses},
               std::int64_t{is_set_aside ? 1 : 0}, each.last, each.source_hash},
              is_set_aside ? Tone::bad : Tone::caution);
  }
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
  verb.add("Options", {{.names = "--set-aside",
                        .help = "instead, candidates that ended their process or the machine",
                        .target = flag_target(options->suspects)},
                       {.names = "--trials",
                        .help = "instead, every candidate that was tried, and what became of it",
                        .target = flag_target(options->trials),
                        .excludes = "--set-aside"},
                       {.names = "--family",
                        .value = "FAMILY",
                        .help = "only results of this kernel family",
                        .target = text_target(options->family)}});
  auto sizes = sizes_option(options->sizes);
  sizes.required = false;
  verb.add("Options", {std::move(sizes)});
  verb.add("Options", {database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
