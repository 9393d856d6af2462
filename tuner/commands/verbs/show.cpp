// mmtune show: the best kernel of every size in the database.
#include <algorithm>
#include <cctype>
#include <memory>

#include "db/store.h"
#include "runtime/log.h"
#include "templates/gpu_catalog.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/commands/winners.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

struct ShowOptions : Options {
  bool suspects = false;
};

bool contains_in_any_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); }) != text.end();
}

std::vector<Winner> selected(const Options& options) {
  // No database yet is no error, unless the user named one.
  const auto path = database_path(options);
  if (options.database.empty() && !database_exists(path)) return {};
  auto winners = Store::open(path, OpenMode::read_only).winners();
  std::erase_if(winners, [&](const Winner& winner) {
    const auto& key = winner.trial.key;
    return !contains_in_any_case(key.device.name, options.device) ||
           !is_wanted(options.precisions, key.problem.precision) || !is_wanted(options.layouts, key.problem.layout);
  });
  return best_evidence(std::move(winners));
}

ExitCode show(const Options& options) {
  const auto winners = selected(options);
  if (winners.empty()) {
    log::warning("{}: no results that match; run mmtune --device auto --sizes 256..8192 to get some",
                 database_path(options));
  }
  print(winners_table(winners, states_of(winners, installed_compiler()), options), options);
  return ExitCode::done;
}

ExitCode show_suspects(const Options& options) {
  Table table({{"gpu"},
               {"driver"},
               {"family"},
               {"config", Align::left, Fit::wraps},
               {"kills", Align::right},
               {"set_aside", Align::right},
               {"last"},
               {"source_hash"}});
  for (const Suspect& each : Store::open(database_path(options), OpenMode::read_only).suspects()) {
    if (!contains_in_any_case(each.device.name, options.device)) continue;
    const bool is_set_aside = each.kills >= kMostKills;
    table.add({each.device.name, each.driver, each.family, each.config, std::int64_t{each.kills},
               std::int64_t{is_set_aside ? 1 : 0}, each.last, each.source_hash},
              is_set_aside ? Tone::bad : Tone::caution);
  }
  print(table, options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_show() {
  auto options = std::make_shared<ShowOptions>();
  options->device.clear();
  options->precisions.clear();
  options->layouts.clear();
  Verb verb{.name = "show",
            .group = VerbGroup::results,
            .help = "Show the best kernel of every size in the database",
            .examples = {"mmtune show", "mmtune show --device h200 --precision fp32 --format csv > tune_fp32.csv",
                         "mmtune show --set-aside"},
            .run = [options] { return options->suspects ? show_suspects(*options) : show(*options); }};
  const auto gpu_name = [](const std::string& text) {
    return text.starts_with("model:") ? catalog_gpu(text.substr(6)).name : text;
  };
  verb.add("Options", {{.names = "--device",
                        .value = "NAME",
                        .help = "only GPUs whose name contains this; model:NAME is that model's name",
                        .target = parsed_target(options->device, gpu_name)},
                       {.names = "--set-aside",
                        .help = "instead, candidates that ended their process or the machine",
                        .target = flag_target(options->suspects)}});
  verb.add("Options", problem_options(*options));
  verb.add("Options", {database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
