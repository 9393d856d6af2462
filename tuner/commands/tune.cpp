// mmtune tune, the main job: find and store the best kernel of every size.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "db/store.h"
#include "runtime/log.h"
#include "templates/families.h"
#include "templates/space.h"
#include "tuner/candidate.h"
#include "tuner/commands/commands.h"
#include "tuner/device_choice.h"
#include "tuner/options.h"
#include "tuner/session.h"
#include "tuner/sizes.h"
#include "tuner/text.h"
#include "tuner/winners.h"

namespace mmtune {
namespace {

struct TuneOptions : Options {
  std::string sizes;
  std::string families;  ///< comma-separated; empty: all that compete
  bool dry_run = false;
  SessionOptions session;  ///< the search options; the rest is filled in by plan()
};

/// What the user should see unless asked to be quiet.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  log::write(log::Level::warning, fmt::format(format, std::forward<Args>(args)...));
}

std::vector<std::string> parse_families(const std::string& text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  for (const auto name : split(text, ',')) names.emplace_back(family_named(name).name());
  return names;
}

std::vector<Problem> problems_of(const TuneOptions& options, const std::vector<Size>& sizes) {
  if (sizes.size() * options.precisions.size() * options.layouts.size() > kMaxSizes) {
    throw UsageError(
        fmt::format("--sizes '{}' with {} precisions and {} layouts makes more than {} problems; tune them in parts",
                    options.sizes, options.precisions.size(), options.layouts.size(), kMaxSizes));
  }
  std::vector<Problem> problems;
  for (const auto precision : options.precisions) {
    for (const auto layout : options.layouts) {
      for (const auto& size : sizes) {
        problems.push_back(packed_problem(precision, layout, size.m, size.n, size.k));
      }
    }
  }
  return problems;
}

/// The values that the searched families allow for a parameter; empty if none of them has it.
std::set<int> allowed_values(const SessionOptions& session, std::string_view parameter) {
  std::set<int> allowed;
  for (const auto* family : searched_families(session.families)) {
    for (const auto& param : family->params()) {
      if (param.name == parameter) allowed.insert(param.values.begin(), param.values.end());
    }
  }
  return allowed;
}

void check_restriction(const SessionOptions& session) {
  for (const auto& [name, values] : session.only) {
    const auto allowed = allowed_values(session, name);
    if (allowed.empty()) {
      throw UsageError(fmt::format("--only '{}': no searched family has this parameter; see `mmtune space`", name));
    }
    for (const int value : values) {
      if (!allowed.contains(value)) {
        throw UsageError(fmt::format("--only '{}={}': choose among {}", name, value, fmt::join(allowed, ", ")));
      }
    }
  }
}

/// Everything that can be wrong with the command line is found here, before any work.
SessionOptions plan(const TuneOptions& options, const std::vector<Size>& sizes) {
  auto session = options.session;
  session.problems = problems_of(options, sizes);
  session.families = parse_families(options.families);
  session.database = database_path(options);
  session.device = choose_device(options.device);
  check_restriction(session);
  return session;
}

/// How many configurations the searched families have for a problem, before any rule.
std::int64_t configurations(const SessionOptions& session, const Problem& problem) {
  std::int64_t total = 0;
  for (const auto* family : searched_families(session.families)) {
    total += SearchSpace(*family, problem, session.device.spec).size();
  }
  return total;
}

void echo(const SessionOptions& session, const std::vector<Size>& sizes) {
  constexpr std::size_t kShown = 64;
  std::string list;
  for (std::size_t i = 0; i < std::min(sizes.size(), kShown); ++i) list += ' ' + to_string(sizes[i]);
  if (sizes.size() > kShown) list += fmt::format(" and {} more", sizes.size() - kShown);
  std::int64_t total = 0;
  for (const auto& problem : session.problems) total += configurations(session, problem);
  say("{}", to_string(session.device));
  say("{} sizes:{}", sizes.size(), list);
  say("{} problems, {} configurations before rules; database {}", session.problems.size(), total, session.database);
}

void print_plan(const SessionOptions& session, const TuneOptions& options) {
  constexpr auto kRight = Align::right;
  Table table(
      {{"precision"}, {"layout"}, {"m", kRight}, {"n", kRight}, {"k", kRight}, {"configurations", kRight}, {"source"}});
  const auto source = to_string(evidence_of(session.device));
  for (const auto& problem : session.problems) {
    table.add({std::string(to_string(problem.precision)), std::string(to_string(problem.layout)), problem.m, problem.n,
               problem.k, configurations(session, problem), std::string(source)});
  }
  print(table, options.format, options.color);
}

void print_winners(const SessionOptions& session, const TuneOptions& options) {
  std::set<std::string> wanted;
  for (const auto& problem : session.problems) wanted.insert(to_string(problem));
  RowFilter filter;
  filter.device = key_of(session.device.spec);
  auto winners = best_evidence(Store::open(session.database, OpenMode::read_only).winners(filter));
  std::erase_if(winners, [&](const Winner& winner) { return !wanted.contains(to_string(winner.trial.key.problem)); });
  print(winners_table(winners, options.format), options.format, options.color);
}

ExitCode tune(const TuneOptions& options) {
  const auto sizes = parse_sizes(options.sizes);
  const auto session = plan(options, sizes);
  echo(session, sizes);
  if (options.dry_run) {
    print_plan(session, options);
    return ExitCode::done;
  }
  const auto summary = run_session(session);
  print_winners(session, options);
  say("{} {}, {} known before, {} failed", summary.tuned, to_string(evidence_of(session.device)), summary.known,
      summary.failed);
  if (summary.interrupted) {
    log::warning("interrupted: what was finished is stored; the same command goes on from there");
    return ExitCode::interrupted;
  }
  return summary.failed > 0 ? ExitCode::no_candidate : ExitCode::done;
}

void add_search_options(CLI::App& verb, TuneOptions& options) {
  auto& session = options.session;
  verb.add_option("--family", options.families, "kernel families to search, separated by commas (default: all)")
      ->type_name("LIST");
  verb.add_option_function<std::string>(
          "--only", [&session](const std::string& text) { session.only = parse_restriction(text); },
          "search only these values: \"BM=128,256 TM=16\"")
      ->type_name("SETTINGS");
  verb.add_option("--strategy", session.strategy, "exhaustive, random or guided")
      ->type_name("NAME")
      ->check(CLI::IsMember({"exhaustive", "random", "guided"}).description(""))
      ->capture_default_str();
  verb.add_option("--effort", session.effort, "quick, default or full")
      ->type_name("NAME")
      ->check(CLI::IsMember({"quick", "default", "full"}).description(""))
      ->capture_default_str();
  verb.add_option_function<std::string>(
          "--budget", [&session](const std::string& text) { session.budget_s = parse_duration_s(text); },
          "stop searching after this time: 60s, 5m, 1h (default: no limit)")
      ->type_name("TIME");
  verb.add_option("--seed", session.seed, "of operands and random choices")->type_name("NUMBER")->capture_default_str();
  verb.add_option("--jobs", session.jobs, "threads that compile (default: one per core)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1024).description(""));
  verb.add_flag("--retune", session.retune, "measure again what is known");
  verb.add_flag("--dry-run", options.dry_run, "print what would be tuned and stop");
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto options = std::make_shared<TuneOptions>();
  auto& verb = *app.add_subcommand("tune", "Find and store the best kernel of every size (the verb may be left out)");
  verb.add_option("--sizes", options->sizes, "1024, 256..8192, a..b:step, a..b*factor, MxNxK, @file.csv; with commas")
      ->type_name("SIZES")
      ->required();
  add_device_option(verb, *options);
  add_problem_options(verb, *options);
  add_search_options(verb, *options);
  add_database_option(verb, *options);
  add_output_options(verb, *options);
  add_log_options(verb);
  verb.callback([options, &action] { action = [options] { return tune(*options); }; });
}

}  // namespace mmtune
