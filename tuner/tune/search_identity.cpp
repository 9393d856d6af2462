#include "tuner/tune/search_identity.h"

#include <fmt/format.h>

#include "templates/base/hash.h"

namespace mmtune {
namespace {

/// Empty where extents are so large that nothing launches the default configuration.
std::string source_hash(const Family& family, const Preparation& preparation, const Problem& problem) {
  const Config config = family.default_config(problem);
  if (!plan_fault(family.plan(problem, config, preparation.device())).empty()) return "";
  return preparation.program(problem, {&family, config}).source.hash;
}

}  // namespace

SearchIdentity::SearchIdentity(const SessionOptions& options, const std::vector<const Family*>& families,
                               const Preparation& preparation, const Problem& problem)
    : compile_limit_s_(options.compile_limit_s) {
  ContentHash hash;
  hash.add(strategy_of(options, preparation.evidence()))
      .add(options.effort)
      .add(std::to_string(options.seed))
      .add(preparation.target().name);
  if (options.deterministic) hash.add("deterministic");
  for (const Family* family : families) {
    hash.add(family->name()).add(source_hash(*family, preparation, problem));
    for (const ParamInfo& param : family->params()) {
      for (const int value : param.values) hash.add(std::to_string(value));
    }
  }
  for (const auto& [name, values] : options.only) {
    hash.add(name);
    for (const int value : values) hash.add(std::to_string(value));
  }
  hash_ = hash.hex();
}

std::string SearchIdentity::stored(SearchEnd end) const {
  switch (end) {
    case SearchEnd::complete:
      return hash_;
    case SearchEnd::limited:
      return ContentHash().add(hash_).add(fmt::format("compile limit {} s", compile_limit_s_)).hex();
    case SearchEnd::cut:
      break;
  }
  return "";
}

bool SearchIdentity::is_answered_by(std::string_view stored_search) const {
  return stored_search == stored(SearchEnd::complete) || stored_search == stored(SearchEnd::limited);
}

}  // namespace mmtune
