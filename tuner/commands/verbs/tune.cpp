// mmtune tune, the main job: find and store the best kernel of every size.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "db/store.h"
#include "runtime/base/log.h"
#include "templates/space/space.h"
#include "tuner/commands/search_options.h"
#include "tuner/commands/shard_option.h"
#include "tuner/commands/verb.h"
#include "tuner/commands/winners.h"
#include "tuner/devices/device_choice.h"
#include "tuner/replay/what_if.h"
#include "tuner/text/files.h"
#include "tuner/text/sizes.h"
#include "tuner/text/text.h"
#include "tuner/tune/preparation.h"
#include "tuner/tune/session.h"

namespace mmtune {
namespace {

struct TuneOptions : SearchOptions {
  std::optional<Share> shard;  ///< the share that was asked for; nothing: that of the environment
  bool retune = false;
  bool dry_run = false;
  bool what_if = false;
  std::vector<std::uint64_t> seeds;  ///< the seeds of what-if; empty: that of the session
  std::string curve;                 ///< the file for what-if's progress; empty: none
  bool force = false;                ///< whether to overwrite that file
};

void echo(const SessionOptions& session) {
  constexpr std::size_t kMostShown = 64;
  std::string list;
  std::set<std::string> sizes;
  for (const Problem& problem : session.problems) {
    const std::string size = to_string(size_of(problem));
    if (sizes.insert(size).second && sizes.size() <= kMostShown) list += ' ' + size;
  }
  if (sizes.size() > kMostShown) list += fmt::format(" and {} more", sizes.size() - kMostShown);
  std::int64_t total = 0;
  for (const auto& model : models_of(session.devices)) {
    for (const auto& problem : session.problems) total += configurations(session, model.spec, problem);
  }
  for (const auto& device : session.devices) log::warning("{}", to_string(device));
  log::warning("{}:{}", counted(std::ssize(sizes), "size"), list);
  log::warning("{}, {} before rules; database {}", counted(std::ssize(session.problems), "problem"),
               counted(total, "configuration"), session.database);
}

void print_plan(const SessionOptions& session, const TuneOptions& options) {
  Table table({left("precision", Fit::shared), left("layout", Fit::shared), right("m"), right("n"), right("k"),
               right("configurations"), left("source", Fit::shared)});
  for (const auto& model : models_of(session.devices)) {
    for (const auto& problem : session.problems) {
      table.add({to_string(problem.precision), to_string(problem.layout), problem.m, problem.n, problem.k,
                 configurations(session, model.spec, problem), to_string(evidence_of(model))});
    }
  }
  print(table, options);
}

void print_winners(const SessionOptions& session, const TuneOptions& options) {
  std::set<std::string> wanted;
  for (const auto& problem : session.problems) wanted.insert(to_string(problem));
  auto winners = best_evidence(Store::open(session.database, OpenMode::read_only).winners());
  std::erase_if(winners, [&](const Winner& winner) {
    return std::none_of(session.devices.begin(), session.devices.end(),
                        [&](const DeviceChoice& device) { return key_of(device.spec) == winner.trial.key.device; });
  });
  std::erase_if(winners, [&](const Winner& winner) { return !wanted.contains(to_string(winner.trial.key.problem)); });
  print(winners_table(winners, states_of(winners, ""), options), options);
}

ExitCode replay_search(const SessionOptions& session, const TuneOptions& options) {
  const auto seeds = options.seeds.empty() ? std::vector<std::uint64_t>{session.seed} : options.seeds;
  const auto replays = what_if(session, seeds);
  const std::string strategy = strategy_of(session, Evidence::measured);
  print(what_if_table(replays, strategy, options.format), options);
  if (!options.curve.empty()) {
    write_text_file(options.curve, curve_table(replays, strategy).text(Format::csv), options.force);
  }
  int unknown = 0;
  for (const auto& [problem, seed, replay, stored_best_us, stored] : replays) {
    unknown += replay.unknown;
    if (replay.best) continue;
    log::warning("{}, seed {}: {}", to_string(problem), seed,
                 stored_best_us > 0 ? "no right trial that is stored was proposed; tune it with --strategy exhaustive"
                                    : "no right trial is stored; tune it first");
  }
  if (unknown > 0) log::warning("{} proposals are not in the database and were passed over", unknown);
  const auto found = [](const WhatIf& each) { return each.replay.best.has_value(); };
  return std::all_of(replays.begin(), replays.end(), found) ? ExitCode::done : ExitCode::no_candidate;
}

/// There are more shares than problems. What collects the databases finds one of this share too.
ExitCode tune_nothing(const SessionOptions& session, const TuneOptions& options) {
  if (!options.dry_run && !options.what_if) Store::open(session.database, OpenMode::read_write);
  return ExitCode::done;
}

ExitCode tune(const TuneOptions& options) {
  if (!options.curve.empty()) check_writable(options.curve, options.force);
  auto session = plan(options);
  if (options.retune) session.mode = SessionMode::retune();
  take_share(session, options.shard);
  if (session.problems.empty()) return tune_nothing(session, options);
  echo(session);
  if (options.dry_run) {
    print_plan(session, options);
    return ExitCode::done;
  }
  if (options.what_if) return replay_search(session, options);
  const auto summary = run_session(session);
  print_winners(session, options);
  log::warning("{} {}, {} known before{}, {} failed", summary.tuned, to_string(evidence_of(session.devices.front())),
               summary.known, summary.not_beaten > 0 ? fmt::format(", {} not beaten", summary.not_beaten) : "",
               summary.failed);
  if (summary.interrupted) return interrupted();
  return summary.failed > 0 ? ExitCode::no_candidate : ExitCode::done;
}

}  // namespace

Verb mmtune_verb_tune() {
  auto options = std::make_shared<TuneOptions>();
  Verb verb{.name = "tune",
            .group = VerbGroup::tuning,
            .help = "Find and store the best kernel of every size (the verb may be left out)",
            .examples = {"mmtune tune --device 0 --sizes 256..8192",
                         "mmtune --device model:t4 --sizes 4096x64x4096 --precision fp16 --effort quick",
                         "mmtune --device 0 --sizes 2048 --family tiled,tiled_coarsened --strategy exhaustive",
                         "mmtune --device 0 --sizes 256..8192 --shard 3/16 --db shard-3.db"},
            .run = [options] { return tune(*options); }};
  add_search_options(verb, *options);
  verb.add("Fleet", {shard_option(options->shard)});
  verb.add(
      "What if",
      {flag_option("--what-if", "replay the search on stored trials: nothing is measured, nothing stored",
                   options->what_if),
       only_with("--what-if", {"--seeds", "LIST", "replay once for each: 1..5 (default: that of --seed)",
                               parsed_target(options->seeds, parse_seeds)}),
       only_with("--what-if", {"--curve", "FILE", "write how the best improves from trial to trial to this CSV file",
                               file_target(options->curve)}),
       only_with("--curve", flag_option("--force", "overwrite that file, unless it is a database", options->force))});
  verb.add("Options", {flag_option("--retune", "measure again what is known", options->retune),
                       flag_option("--dry-run", "print what would be tuned and stop", options->dry_run),
                       database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
