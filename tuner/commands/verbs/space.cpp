// mmtune space: how many configurations a family has for a size, and which rules leave out the others.
#include "templates/space/space.h"

#include <memory>

#include "templates/family/families.h"
#include "tuner/commands/search_options.h"
#include "tuner/commands/verb.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

struct SpaceOptions : Options {
  std::string family;
  std::string sizes;
  Restriction only;
};

void add_rows(Table& table, const Problem& problem, const SpaceCount& count) {
  const auto add = [&](std::string_view kind, std::int64_t configurations, std::string_view rule) {
    table.add({to_string(problem.precision), to_string(problem.layout), problem.m, problem.n, problem.k, kind,
               configurations, rule});
  };
  add("total", count.total, "");
  for (const auto& [rule, configurations] : count.removed) add("removed", configurations, rule);
  for (const auto& [rule, configurations] : count.not_worth) add("not worth trying", configurations, rule);
  add("searched", count.searched, "");
}

ExitCode space(const SpaceOptions& options) {
  const auto& family = family_named(options.family);
  auto problems = named_problems(options.sizes, options);
  check_restriction(options.only, {&family});
  const auto device = choose_described_device(options.device);
  Table table({left("precision", Fit::shared), left("layout", Fit::shared), right("m"), right("n"), right("k"),
               left("kind"), right("configurations"), left("rule", Fit::wraps)});
  for (Problem& problem : problems) {
    problem.invariant = options.invariant;
    add_rows(table, problem, SearchSpace(family, problem, device.spec, options.only).count());
  }
  print(table, options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_space() {
  auto options = std::make_shared<SpaceOptions>();
  Verb verb{.name = "space",
            .group = VerbGroup::inspection,
            .help = "Count a family's configurations, and those that each rule leaves out",
            .examples = {"mmtune space simt --sizes 1024 --device model:h200",
                         "mmtune space simt --sizes 4096 --device model:h200 --only \"LOAD=TMA UNROLL=16\""},
            .run = [options] { return space(*options); }};
  verb.add("Problems", {family_argument(options->family), sizes_option(options->sizes),
                        restriction_option(options->only), device_option(*options)});
  verb.add("Problems", problem_options(*options));
  verb.add("Problems", {invariant_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
