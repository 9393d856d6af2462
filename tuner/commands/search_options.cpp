#include "tuner/commands/search_options.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <utility>

#include "runtime/base/log.h"
#include "templates/family/families.h"
#include "tuner/cover/size_sample.h"
#include "tuner/search/strategy.h"
#include "tuner/text/text.h"
#include "tuner/tune/preparation.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

std::vector<std::string> parse_families(const std::string& text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  for (const auto name : split(text, ',')) names.emplace_back(family_named(name).name());
  return names;
}

bool names_calls(const std::string& sizes) { return sizes.starts_with('@') && are_calls(sizes.substr(1)); }

}  // namespace

std::vector<Problem> named_problems(const std::string& sizes, const Options& options) {
  std::vector<WeightedSize> calls;
  if (names_calls(sizes)) {
    calls = read_calls(sizes.substr(1));
  } else {
    for (const Size& size : parse_sizes(sizes)) calls.push_back({size});
  }
  return problems_of(asked_problems(calls, options.precisions, options.layouts));
}

SessionOptions plan(const SearchOptions& options) {
  SessionOptions session = plan(options, named_problems(options.sizes, options));
  session.in_order = names_calls(options.sizes);
  return session;
}

SessionOptions plan(const SearchOptions& options, std::vector<Problem> problems) {
  if (problems.size() > kMaxSizes) {
    throw UsageError(
        fmt::format("--sizes '{}' with {} precisions and {} layouts makes more than {} problems; tune them in parts",
                    options.sizes, options.precisions.size(), options.layouts.size(), kMaxSizes));
  }
  auto session = options.session;
  session.problems = std::move(problems);
  for (Problem& problem : session.problems) problem.invariant = options.invariant;
  session.families = parse_families(options.families);
  session.database = database_path(options);
  session.devices = choose_devices(options.device);
  check_restriction(session.only, searched_families(session.families));
  return session;
}

ExitCode interrupted() {
  log::warning("interrupted: what was finished is stored; the same command goes on from there");
  return ExitCode::interrupted;
}

void add_search_options(Verb& verb, SearchOptions& options) {
  auto& session = options.session;
  auto device = device_option(options);
  device.help = "auto, all, or numbers of GPUs or model:NAME with commas (see mmtune devices)";
  verb.add("Problems", {sizes_option(options.sizes), device});
  verb.add("Problems", problem_options(options));
  verb.add("Problems", {invariant_option(options)});
  verb.add(
      "Search",
      {{"--family", "LIST", "kernel families to search, separated by commas (default: all)",
        family_target(options.families)},
       restriction_option(session.only),
       {"--strategy", "NAME", "which candidates are tried (default: guided; where times are predicted, ranked)",
        choice_target(session.strategy, strategy_names())},
       {"--effort", "NAME", "how many candidates are tried", choice_target(session.effort, effort_names())},
       {"--budget", "TIME", "stop searching after this time: 60s, 5m, 1h (default: no limit)",
        duration_target(session.budget_s)},
       {"--seed", "NUMBER", "seeds the choices of random and guided among candidates; races and operands ignore it",
        number_target(session.seed)},
       {"--jobs", "NUMBER", "processes that compile, up to 1024 (default: one per core)",
        number_target(session.jobs, 1, 1024)},
       {"--compile-limit", "TIME", "give up a source that is not compiled after this time (default: 60s)",
        duration_target(session.compile_limit_s)},
       {"--launch-limit", "TIME",
        "give up a candidate that takes this much longer than its work can take (default: 10s)",
        duration_target(session.launch_limit_s)},
       wait_option(session.wait_s),
       flag_option("--deterministic", "only kernels that give the same bits every time may win",
                   session.deterministic)});
}

}  // namespace mmtune
