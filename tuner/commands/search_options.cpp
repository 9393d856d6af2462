#include "tuner/commands/search_options.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <CLI/CLI.hpp>

#include "templates/families.h"
#include "tuner/text/sizes.h"
#include "tuner/text/text.h"
#include "tuner/tune/preparation.h"

namespace mmtune {
namespace {

std::vector<std::string> parse_families(const std::string& text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  for (const auto name : split(text, ',')) names.emplace_back(family_named(name).name());
  return names;
}

std::vector<Problem> problems_of(const SearchOptions& options, const std::vector<Size>& sizes) {
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

}  // namespace

SessionOptions plan(const SearchOptions& options) {
  auto session = options.session;
  session.problems = problems_of(options, parse_sizes(options.sizes));
  session.families = parse_families(options.families);
  session.database = database_path(options);
  session.devices = choose_devices(options.device);
  check_restriction(session.only, searched_families(session.families));
  return session;
}

void add_search_options(CLI::App& verb, SearchOptions& options) {
  auto& session = options.session;
  verb.add_option("--sizes", options.sizes, "1024, 256..8192, a..b:step, a..b*factor, MxNxK, @file.csv; with commas")
      ->type_name("SIZES")
      ->required();
  add_device_option(verb, options);
  verb.get_option("--device")
      ->description("auto, all, or numbers of GPUs or model:NAME with commas (see mmtune devices)");
  add_problem_options(verb, options);
  verb.add_option("--family", options.families, "kernel families to search, separated by commas (default: all)")
      ->type_name("LIST");
  add_restriction_option(verb, session.only);
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
  verb.add_option("--jobs", session.jobs, "processes that compile (default: one per core)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1024).description(""));
  verb.add_option_function<std::string>(
          "--compile-limit", [&session](const std::string& text) { session.compile_limit_s = parse_duration_s(text); },
          "give up a source that is not compiled after this time (default: 60s)")
      ->type_name("TIME");
  verb.add_option_function<std::string>(
          "--launch-limit", [&session](const std::string& text) { session.launch_limit_s = parse_duration_s(text); },
          "give up a candidate that takes this much longer than its work can take (default: 10s)")
      ->type_name("TIME");
  verb.add_flag("--deterministic", session.deterministic, "only kernels that give the same bits every time may win");
}

}  // namespace mmtune
