// Tests name configurations of real families by the settings that they are about. All others have their defaults, also
// those of parameters that a family gets later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/space/space.h"

namespace mmtune::test {

/// A problem that any configuration can run that does not ask for large extents.
inline Problem small_problem() { return packed_problem(Precision::fp32, Layout::nn, 64, 64, 64); }

/// "TILE=8 UNROLL=2" with what else the family has.
inline Config completed(std::string_view family, std::string_view settings) {
  const Family& of = family_named(family);
  return of.complete(of.parse(settings), small_problem(), catalog_gpu("h200"));
}

/// The same after the family's name: a candidate as logs have it.
inline std::string candidate_text(std::string_view family, std::string_view settings) {
  return std::string(family) + ' ' + completed(family, settings).text();
}

/// "PAD=0 …": a restriction that leaves only the values of these parameters to choose.
inline std::string others_at_default(std::string_view family, std::initializer_list<std::string_view> free) {
  std::vector<Setting> others = family_named(family).default_config(small_problem()).settings();
  std::erase_if(others,
                [&](const Setting& each) { return std::find(free.begin(), free.end(), each.name) != free.end(); });
  return Config(std::move(others)).text();
}

/// How many candidates of the family are worth trying for small_problem() under a restriction.
inline std::size_t candidate_count(std::string_view family, std::string_view restriction) {
  const SearchSpace space(family_named(family), small_problem(), catalog_gpu("h200"), parse_restriction(restriction));
  return static_cast<std::size_t>(space.count().searched);
}

/// A constant that the plan renders; every test that asks has named one that is there.
inline std::int64_t constant_of(const LaunchPlan& plan, std::string_view name) {
  const auto found = std::find_if(plan.constants.begin(), plan.constants.end(),
                                  [&](const Constant& each) { return each.name == name; });
  if (found == plan.constants.end()) throw std::out_of_range(std::string(name));
  return found->value;
}

}  // namespace mmtune::test
