// mmtune families: what the kernel families are, and what can be set of one.
#include "templates/family/families.h"

#include <fmt/format.h>

#include <memory>

#include "templates/gpu/gpu_catalog.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"

namespace mmtune {
namespace {

struct FamiliesOptions : Options {
  std::string family;
};

/// The problem that defaults and rules are listed for. Sentences of rules are the same for all problems and GPUs.
Problem usual_problem() { return packed_problem(kDefaultPrecision, Layout::nn, 1024, 1024, 1024); }
const DeviceSpec& usual_gpu() { return catalog_gpu("h200"); }

Table table_of_families() {
  Table table({left("family"), right("parameters"), right("configurations"), left("summary", Fit::wraps)});
  for (const Family* family : families()) {
    std::int64_t configurations = 1;
    for (const ParamInfo& param : family->params()) configurations *= static_cast<std::int64_t>(param.values.size());
    table.add({family->name(), family->params().size(), configurations, family->summary()});
  }
  return table;
}

std::string with_name(const ParamInfo& param, int value) {
  const std::string_view name = param.name_of(value);
  return name.empty() ? std::to_string(value) : fmt::format("{} {}", value, name);
}

Table table_of(const Family& family) {
  const Config defaults = family.default_config(usual_problem());
  Table table({left("kind"), left("name"), left("values", Fit::wraps), left("default"), left("meaning", Fit::wraps)});
  for (const ParamInfo& param : family.params()) {
    table.add({"parameter", param.name, param.choices(), with_name(param, *defaults.find(param.name)), param.help});
  }
  for (const RuleInfo& rule : family.all_rules(usual_problem(), usual_gpu())) {
    table.add({rule.is_must ? "must hold" : "worth trying", {}, {}, {}, rule.sentence});
  }
  return table;
}

ExitCode list_families(const FamiliesOptions& options) {
  const Table table = options.family.empty() ? table_of_families() : table_of(family_named(options.family));
  print(table, options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_families() {
  auto options = std::make_shared<FamiliesOptions>();
  Verb verb{.name = "families",
            .group = VerbGroup::inspection,
            .help = "List the kernel families, or one family's parameters and rules",
            .examples = {"mmtune families", "mmtune families simt"},
            .run = [options] { return list_families(*options); }};
  Option family = family_argument(options->family);
  family.required = false;
  family.help = "list parameters, their values and rules of this one";
  verb.add("Family", {std::move(family)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
