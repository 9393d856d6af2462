#include "runtime/untuned.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/nearest.h"
#include "templates/cost.h"
#include "templates/families.h"
#include "templates/space.h"

namespace mmtune {

namespace {

constexpr double kProvenIsWorth = 1.5;  // proven is worth more than a model's word for less

struct Candidate {
  const Family* family = nullptr;
  Config config;
  double model_us = std::numeric_limits<double>::infinity();
};

/// The family's configuration that the model expects to be the fastest; infinitely slow if it has none.
Candidate model_pick(const Family& family, const Problem& problem, const DeviceSpec& device) {
  const SearchSpace space(family, problem, device);
  const auto ranked = space.ranked(1);
  if (ranked.empty()) return {};
  return {&family, space.config(ranked.front().number), ranked.front().predicted_us};
}

/// The family's proven configuration of the nearest problem that can run this one.
std::optional<std::pair<double, Candidate>> nearest_proven(const Family& family, const Problem& problem,
                                                           const DeviceSpec& device) {
  std::optional<std::pair<double, Candidate>> nearest;
  for (const Proven& each : family.proven()) {
    if (each.precision != problem.precision) continue;
    Problem where = problem;
    std::tie(where.m, where.n, where.k) = std::tie(each.m, each.n, each.k);
    const double away = distance(problem, where);
    if (nearest && nearest->first <= away) continue;
    Config config = family.with_defaults(Config::parse(each.config), problem);
    const auto plan = family.legal_plan(problem, config, device);
    if (!plan) continue;
    const double model_us = predict(problem, *plan, device, 0).time_us;
    nearest.emplace(away, Candidate{&family, std::move(config), model_us});
  }
  return nearest;
}

Choice choice_of(const Candidate& candidate, const Problem& problem, const DeviceSpec& device, std::string_view what) {
  Choice choice;
  choice.match = Match::predicted;
  choice.family = candidate.family;
  choice.config = candidate.config;
  choice.align = problem.align;
  choice.plan = candidate.family->plan(problem, candidate.config, device);
  choice.expected_us = candidate.model_us;
  choice.why = fmt::format("nothing is tuned for {} {} on {}: {}, compiled for this call", to_string(problem.precision),
                           to_string(problem.layout), device.name, what);
  return choice;
}

}  // namespace

std::optional<Choice> untuned_choice(const Problem& given, const DeviceSpec& device) {
  const Problem problem = with_depth(given);
  Candidate pick;
  std::optional<std::pair<double, Candidate>> proven;
  for (const Family* family : families()) {
    if (!family->competes()) continue;
    if (Candidate own = model_pick(*family, problem, device); own.model_us < pick.model_us) pick = std::move(own);
    auto near = nearest_proven(*family, problem, device);
    if (near && (!proven || near->first < proven->first)) proven = std::move(near);
  }
  if (proven && proven->second.model_us <= pick.model_us * kProvenIsWorth) {
    return choice_of(proven->second, given, device, "a configuration that is proven elsewhere");
  }
  if (pick.family == nullptr) return std::nullopt;
  return choice_of(pick, given, device, "what the model expects to be the fastest");
}

}  // namespace mmtune
