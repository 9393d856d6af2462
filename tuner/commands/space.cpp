// mmtune space: how many configurations a family has for a size, and which rules leave out the others.
#include "templates/space.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "templates/families.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/options.h"
#include "tuner/devices/device_choice.h"
#include "tuner/text/sizes.h"

namespace mmtune {
namespace {

struct SpaceOptions : Options {
  std::string family;
  std::string sizes;
  Restriction only;
};

void add_rows(Table& table, const Problem& problem, const SpaceCount& count) {
  const auto add = [&](std::string_view kind, std::int64_t configurations, std::string_view rule) {
    table.add({std::string(to_string(problem.precision)), std::string(to_string(problem.layout)), problem.m, problem.n,
               problem.k, std::string(kind), configurations, std::string(rule)});
  };
  add("total", count.total, "");
  for (const auto& [rule, configurations] : count.removed) add("removed", configurations, rule);
  for (const auto& [rule, configurations] : count.not_worth) add("not worth trying", configurations, rule);
  add("searched", count.searched, "");
}

ExitCode space(const SpaceOptions& options) {
  const auto& family = family_named(options.family);
  const auto sizes = parse_sizes(options.sizes);
  check_restriction(options.only, {&family});
  const auto device = choose_device(options.device);
  constexpr auto kRight = Align::right;
  Table table({{"precision"},
               {"layout"},
               {"m", kRight},
               {"n", kRight},
               {"k", kRight},
               {"kind"},
               {"configurations", kRight},
               {"rule"}});
  for (const auto precision : options.precisions) {
    for (const auto layout : options.layouts) {
      for (const auto& size : sizes) {
        const auto problem = packed_problem(precision, layout, size.m, size.n, size.k);
        add_rows(table, problem, SearchSpace(family, problem, device.spec, options.only).count());
      }
    }
  }
  print(table, options.format, options.color);
  return ExitCode::done;
}

}  // namespace

void add_space(CLI::App& app, Action& action) {
  auto options = std::make_shared<SpaceOptions>();
  auto& verb = *app.add_subcommand("space", "Count a family's configurations, and those that each rule leaves out");
  verb.add_option("family", options->family, "a kernel family")->type_name("FAMILY")->required();
  verb.add_option("--sizes", options->sizes, "1024, 256..8192, a..b:step, a..b*factor, MxNxK, @file.csv")
      ->type_name("SIZES")
      ->required();
  add_restriction_option(verb, options->only);
  add_device_option(verb, *options);
  add_problem_options(verb, *options);
  add_output_options(verb, *options);
  add_log_options(verb);
  verb.callback([options, &action] { action = [options] { return space(*options); }; });
}

}  // namespace mmtune
