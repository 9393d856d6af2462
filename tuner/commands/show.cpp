// mmtune show: the best kernel of every size in the database.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "db/store.h"
#include "runtime/log.h"
#include "templates/gpu_catalog.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/options.h"
#include "tuner/commands/winners.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

bool contains_in_any_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); }) != text.end();
}

std::vector<Winner> selected(const Options& options) {
  // No database yet is no error, unless the user named one.
  const auto path = database_path(options);
  if (options.database.empty() && !std::filesystem::exists(path)) return {};
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
  print(winners_table(winners, states_of(winners, installed_compiler()), options.format), options.format,
        options.color);
  return ExitCode::done;
}

ExitCode show_suspects(const Options& options) {
  Table table({{"gpu"},
               {"driver"},
               {"family"},
               {"config"},
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
  print(table, options.format, options.color);
  return ExitCode::done;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  auto suspects = std::make_shared<bool>(false);
  options->device.clear();
  options->precisions.clear();
  options->layouts.clear();
  auto& verb = *app.add_subcommand("show", "Show the best kernel of every size in the database");
  verb.add_option_function<std::string>(
          "--device",
          [options](const std::string& text) {
            options->device = text.starts_with("model:") ? catalog_gpu(text.substr(6)).name : text;
          },
          "only GPUs whose name contains this; model:NAME is that model's name")
      ->type_name("NAME");
  verb.add_flag("--set-aside", *suspects, "instead, candidates that ended their process or the machine");
  add_problem_options(verb, *options);
  add_database_option(verb, *options);
  add_output_options(verb, *options);
  add_log_options(verb);
  verb.callback([options, suspects, &action] {
    action = [options, suspects] { return *suspects ? show_suspects(*options) : show(*options); };
  });
}

}  // namespace mmtune
