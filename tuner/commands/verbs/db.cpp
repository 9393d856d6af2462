// mmtune db: check, merge, export and prune a database.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/choose/dispatch.h"
#include "runtime/gpu/nvrtc.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/export/t4_results.h"
#include "tuner/text/files.h"
#include "tuner/text/text.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

struct DbOptions : Options {
  std::string target;                 ///< the file to export to
  std::vector<std::string> others;    ///< the files to merge from
  std::string exported = "database";  ///< "database" or "t4"
  bool winners = false;               ///< whether to export nothing of a database but its decisions and their code
  std::string size;                   ///< the size of the trials to export; empty: all
  std::string family;                 ///< the family of the trials to export; empty: all
  PruneRules rules;
  bool without_code = false;  ///< whether to export no machine code
  bool with_code = false;     ///< whether to take the machine code of a file of another user
  bool yes = false;
  bool dry_run = false;  ///< This is the default, spelt out.
};

Table counts(const std::vector<std::pair<std::string, std::int64_t>>& named) {
  std::vector<Column> columns;
  std::vector<Cell> cells;
  for (const auto& [name, count] : named) {
    columns.push_back({name, Align::right});
    cells.emplace_back(count);
  }
  Table table(std::move(columns));
  table.add(std::move(cells));
  return table;
}

ExitCode check(const DbOptions& options) {
  const auto path = database_path(options);
  const auto report = Store::open(path, OpenMode::read_only).check();
  for (const auto& fault : report.faults) log::error("{}: {}", path, fault);
  print(counts({{"trials", report.trials},
                {"binaries", report.binaries},
                {"winners", report.winners},
                {"faults", report.faults.size()}}),
        options);
  if (report.faults.empty()) return ExitCode::done;
  log::error("{}: these count as absent; restore a copy, or tune their sizes again", path);
  return ExitCode::database;
}

/// Whether this program would serve a decision on its GPU. Where that GPU is not known here, its hash is believed.
bool would_serve(const TrialKey& decision, const Binary& code) {
  static const TemplateFiles files = template_files();
  const auto device = known_gpu(decision.device);
  return !device || why_unusable(decision, code, *device, files).empty();
}

ExitCode merge(const DbOptions& options) {
  const auto code = options.with_code ? ForeignCode::take : ForeignCode::compile_again;
  Store::require_mergeable(options.others);
  const auto report =
      Store::open(database_path(options), OpenMode::read_write).merge_from(options.others, code, would_serve);
  for (const auto& [reason, rows] : report.reasons) log::warning("{} left out: {}", counted(rows, "row"), reason);
  for (const Problem& problem : report.near_ties) {
    log::warning("{}: decided otherwise elsewhere, and the samples leave open which is faster", to_string(problem));
  }
  if (!report.near_ties.empty()) log::warning("`mmtune refresh` races these decisions on one GPU");
  print(counts({{"files", std::ssize(options.others)},
                {"trials_added", report.trials_added},
                {"trials_kept", report.trials_kept},
                {"winners_changed", report.winners_changed},
                {"settled", report.settled},
                {"near_ties", std::ssize(report.near_ties)},
                {"rejected", report.rejected}}),
        options);
  return ExitCode::done;
}

/// The trials that the options name.
std::vector<Trial> selected_trials(const DbOptions& options, Store& store) {
  std::vector<Trial> trials = store.trials();
  const auto sizes = selected_sizes(options.size);
  std::erase_if(trials, [&](const Trial& trial) { return !is_selected(trial.key, options, sizes, options.family); });
  return trials;
}

/// The sources of the fallbacks that belong to the decisions, as Library looks for them.
std::vector<std::string> fallback_sources(Store& store) {
  const TemplateFiles files = template_files();
  std::set<std::string> sources;
  for (const Winner& winner : store.winners()) {
    const auto device = known_gpu(winner.trial.key.device);
    if (!device) continue;
    const int capability = compile_target(*device, {compute_capability(*device)}).compute_capability;
    sources.insert(CurrentSources(*device, files).fallback_hash(winner.trial.key.problem, capability));
  }
  return {sources.begin(), sources.end()};
}

ExitCode export_copy(const DbOptions& options) {
  for (const auto& [name, given] :
       {std::pair{"--winners", options.winners}, {"--without-code", options.without_code}}) {
    if (!given || options.exported == "database") continue;
    throw UsageError(fmt::format("{}: goes with --format database, not {}", name, options.exported));
  }
  const bool selects = !options.size.empty() || !options.family.empty() || !options.device.empty() ||
                       !options.precisions.empty() || !options.layouts.empty();
  if (selects && options.exported != "t4") {
    throw UsageError(
        "db export: a database is exported whole; leave out --size, --family, --device, --precision and --layout, or "
        "give --format t4");
  }
  auto store = Store::open(database_path(options), OpenMode::read_only);
  if (options.exported == "t4") {
    const auto compile_ms = [&](const Trial& trial) { return store.compile_ms(trial.binary_hash); };
    write_text_file(options.target, t4_results(selected_trials(options, store), compile_ms), false);
  } else if (options.without_code) {
    store.export_without_code(options.target);
  } else if (options.winners) {
    store.export_winners(options.target, fallback_sources(store));
  } else {
    store.export_to(options.target);
  }
  log::warning("{}: written", options.target);
  return ExitCode::done;
}

/// The source hashes of all rows that today's kernels still produce. Rows of a GPU that cannot be looked up stay.
std::vector<std::string> live_sources(const std::vector<Trial>& trials) {
  const auto files = template_files();
  const auto nvrtc = Nvrtc::load();
  std::set<std::string> live;
  for (const Trial& trial : trials) {
    const TrialKey& key = trial.key;
    if (live.contains(key.source_hash)) continue;
    const auto device = known_gpu(key.device);
    const bool is_made =
        !device ||
        why_changed(key, *device, files, compile_target(*device, nvrtc.supported()).compute_capability).empty();
    if (is_made) live.insert(key.source_hash);
  }
  return {live.begin(), live.end()};
}

ExitCode prune(const DbOptions& options) {
  auto rules = options.rules;
  if (!rules.failed && !rules.predicted && !rules.set_aside && !rules.stale_sources && !rules.losing_code) {
    throw UsageError(
        "db prune: nothing to remove was named; give --code, --failed, --predicted, --set-aside or --stale");
  }
  const std::string path = database_path(options);
  const bool may_be_written = options.yes && database_exists(path);  // A reader creates none.
  auto store = Store::open(path, may_be_written ? OpenMode::read_write : OpenMode::read_only);
  if (rules.stale_sources) rules.live_sources = live_sources(store.trials());
  rules.kept_sources = fallback_sources(store);
  if (!options.yes) {
    const auto found = store.count_prunable(rules);
    print(counts({{"trials", found.trials}, {"set_aside", found.suspects}, {"code", found.images}}), options);
    log::warning("{}: nothing was removed; add --yes to remove these", store.path());
    return ExitCode::done;
  }
  const auto report = store.prune(rules);
  print(counts({{"trials", report.trials},
                {"binaries", report.binaries},
                {"winners", report.winners},
                {"set_aside", report.suspects},
                {"code", report.images}}),
        options);
  return ExitCode::done;
}

using DbTask = ExitCode (*)(const DbOptions&);

Verb task(const std::shared_ptr<DbOptions>& options, DbTask run, const std::string& name, const std::string& help,
          std::vector<Option> more) {
  Verb verb{.name = name, .group = VerbGroup::results, .help = help, .run = [options, run] { return run(*options); }};
  verb.add("Options", std::move(more));
  verb.add("Options", {database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

Option file_argument(std::string& file, const std::string& name, const std::string& help) {
  return required({name, "FILE", help, file_target(file)});
}

std::vector<Option> export_options(DbOptions& options) {
  return {file_argument(options.target, "file", "where to write it; must not exist"),
          {"--format", "NAME",
           "database: a compact copy; t4: the trials of one family, problem and GPU for other autotuners",
           choice_target(options.exported, {"database", "t4"})},
          flag_option("--winners", "only decisions and their machine code, for applications", options.winners),
          never_with("--winners",
                     flag_option(
                         "--without-code",
                         "all but the machine code: what decisions need is compiled again where it is merged and tuned",
                         options.without_code)),
          {"--size,--sizes", "SIZE", "the size whose trials T4 results hold", text_target(options.size)},
          {"--family", "NAME", "their kernel family", text_target(options.family)}};
}

std::vector<Option> prune_options(DbOptions& options) {
  auto& rules = options.rules;
  return {
      flag_option("--code", "machine code of candidates that lost; their results stay", rules.losing_code),
      flag_option("--failed", "trials that did not run right", rules.failed),
      flag_option("--predicted", "trials whose time comes from the model", rules.predicted),
      flag_option("--set-aside", "what ended its process or the machine: tries it again", rules.set_aside),
      flag_option("--stale", "trials of kernels that have changed since", rules.stale_sources),
      flag_option("--yes", "really remove them", options.yes),
      never_with("--yes", flag_option("--dry-run", "only count them, as without --yes", options.dry_run)),
  };
}

/// `db export`, whose --format is that of a file, and not that of a table on stdout.
Verb export_verb() {
  auto options = std::make_shared<DbOptions>();
  Verb verb{.name = "export",
            .group = VerbGroup::results,
            .help = "Write a compact copy for other machines, or trials for other autotuners",
            .examples = {"mmtune db export --winners mmtune-system.db",
                         "mmtune db export --format t4 --family simt --size 4096 t4.json"},
            .run = [options] { return export_copy(*options); }};
  verb.add("Options", export_options(*options));
  verb.add("Options", selection_options(*options));
  verb.add("Options", {database_option(*options)});
  add_log_options(verb);
  return verb;
}

}  // namespace

Verb mmtune_verb_db() {
  auto options = std::make_shared<DbOptions>();
  Verb db{.name = "db",
          .group = VerbGroup::results,
          .help = "Check, merge, export or prune a database",
          .examples = {"mmtune db check", "mmtune db merge other.db", "mmtune db merge --db fleet.db shard-*.db",
                       "mmtune db export copy.db", "mmtune db prune --failed --stale --yes"}};
  db.verbs.push_back(task(options, check, "check", "Look for damage", {}));
  db.verbs.push_back(
      task(options, merge, "merge", "Add everything from other databases",
           {{.names = "others",
             .value = "FILE",
             .help = "other databases, left as they are; their order does not matter",
             .target = texts_target(options->others),
             .required = true,
             .repeatable = true},
            flag_option("--with-code", "take machine code also from a file of another user", options->with_code)}));
  db.verbs.push_back(export_verb());
  db.verbs.push_back(
      task(options, prune, "prune", "Remove machine code and trials that are of no more use", prune_options(*options)));
  for (Verb& part : db.verbs) {
    std::copy_if(db.examples.begin(), db.examples.end(), std::back_inserter(part.examples),
                 [&](const std::string& example) { return example.starts_with("mmtune db " + part.name); });
  }
  return db;
}

}  // namespace mmtune
