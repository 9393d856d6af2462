#include "tuner/tune/fallbacks.h"

#include <set>
#include <utility>

#include "runtime/base/log.h"
#include "templates/family/families.h"
#include "templates/family/render.h"

namespace mmtune {

Fallback fallback_for(Precision precision, Layout layout, const Preparation& preparation) {
  const Family& family = fallback_family();
  const Problem problem = packed_problem(precision, layout, 1, 1, 1);
  const Config config = family.default_config(problem);
  return {problem, &family, config, preparation.source(family, problem, config)};
}

void store_fallbacks(const std::vector<Problem>& problems, const Preparation& preparation, CompileQueue& compiler,
                     Store& store) {
  std::set<std::pair<Precision, Layout>> done;
  std::vector<Fallback> missing;
  for (const Problem& each : problems) {
    if (!done.emplace(each.precision, each.layout).second) continue;
    Fallback fallback = fallback_for(each.precision, each.layout, preparation);
    if (store.find_compiled(fallback.source.hash, preparation.target().name)) continue;
    compiler.submit(missing.size(), fallback.source, preparation.target());
    missing.push_back(std::move(fallback));
  }
  while (const auto result = compiler.next()) {
    const Fallback& fallback = missing[result->ticket];
    if (result->outcome == Outcome::ok) {
      store.put_compiled(fallback.source.hash, preparation.binary(result->compilation));
    } else {
      log::warning("no fallback for {} {}: {} does not compile: {}", to_string(fallback.problem.precision),
                   to_string(fallback.problem.layout), fallback.family->name(), result->compilation.log);
    }
  }
}

std::optional<Canary> canary_for(const Problem& any, const Preparation& preparation, Store& store) {
  const Fallback fallback = fallback_for(any.precision, any.layout, preparation);
  const LaunchPlan plan = fallback.family->plan(fallback.problem, fallback.config, preparation.device());
  const Source built_in = render(TemplateFiles::embedded(), *fallback.family, fallback.problem, fallback.config, plan,
                                 preparation.target().compute_capability);
  if (built_in.hash != fallback.source.hash) return std::nullopt;
  auto binary = store.find_compiled(fallback.source.hash, preparation.target().name);
  if (!binary) return std::nullopt;
  Canary canary{fallback.problem, {{fallback.family, fallback.config}, {}, fallback.source, {}, *std::move(binary)}};
  canary.problem.m = canary.problem.n = canary.problem.k = 64;
  return canary;
}

}  // namespace mmtune
