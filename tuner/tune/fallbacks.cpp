#include "tuner/tune/fallbacks.h"

#include <set>
#include <utility>

#include "runtime/base/log.h"
#include "templates/family/families.h"
#include "templates/family/render.h"

namespace mmtune {

Program fallback_for(Precision precision, Layout layout, const Preparation& preparation) {
  const Family& family = fallback_family();
  const Problem problem = packed_problem(precision, layout, 1, 1, 1);
  return preparation.program(problem, {&family, family.default_config(problem)});
}

void store_fallbacks(const std::vector<Problem>& problems, const Preparation& preparation, CompileQueue& compiler,
                     Store& store) {
  std::set<std::pair<Precision, Layout>> done;
  std::vector<Program> missing;
  for (const Problem& each : problems) {
    if (!done.emplace(each.precision, each.layout).second) continue;
    Program fallback = fallback_for(each.precision, each.layout, preparation);
    if (store.find_compiled(fallback.source.hash, preparation.target().name)) continue;
    compiler.submit(missing.size(), fallback.source, preparation.target());
    missing.push_back(std::move(fallback));
  }
  while (const auto result = compiler.next()) {
    const Program& fallback = missing[result->ticket];
    if (result->outcome == Outcome::ok) {
      store.put_compiled(fallback.source.hash, preparation.binary(result->compilation));
    } else {
      log::warning("no fallback for {} {}: {} does not compile: {}", to_string(fallback.key.problem.precision),
                   to_string(fallback.key.problem.layout), fallback.key.family, result->compilation.log);
    }
  }
}

std::optional<Program> canary_for(const Problem& any, const Preparation& preparation, Store& store) {
  Program fallback = fallback_for(any.precision, any.layout, preparation);
  const auto& [family, config] = fallback.candidate;
  const Source built_in = render(TemplateFiles::embedded(), *family, fallback.key.problem, config, fallback.plan,
                                 preparation.target().compute_capability);
  if (built_in.hash != fallback.source.hash) return std::nullopt;
  auto binary = store.find_compiled(fallback.source.hash, preparation.target().name);
  if (!binary) return std::nullopt;
  fallback.binary = *std::move(binary);
  fallback.key.problem.m = fallback.key.problem.n = fallback.key.problem.k = 64;
  return fallback;
}

}  // namespace mmtune
