#include "runtime/choose/untuned.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/choose/nearest.h"
#include "templates/family/families.h"
#include "templates/model/cost.h"
#include "templates/problem/tiling.h"
#include "templates/space/space.h"

namespace mmtune {
namespace {

constexpr double kProvenIsWorth = 1.5;  // the factor by which a proven configuration may be slower by the model
constexpr std::size_t kLookedAt = 256;  // the number of a family's configurations that are looked at for a batch
constexpr std::int64_t kFlat = 64;      // rows below which a product alone asks for other kernels than the stacked one

struct Pick {
  const Family* family = nullptr;
  Config config;
  double model_us = std::numeric_limits<double>::infinity();
};

/// A product with about as many tiles as all products of a batch have: they lie one below the other.
Problem stacked(Problem problem, std::int64_t products) {
  constexpr std::int64_t kManyRows = 1 << 20;  // the number of rows beyond which further waves make no difference
  problem.m = std::max(problem.m, std::min(kManyRows, problem.m * std::min(products, kManyRows)));
  return problem;
}

/// The configuration with the model's time of all products.
Pick timed(const Family& family, Config config, const LaunchPlan& plan, const Problem& problem,
           const DeviceSpec& device, std::int64_t products) {
  return {&family, std::move(config), predict(problem, plan, device, 0, products).time_us};
}

/// The family's configuration that the model expects to be the fastest; infinitely slow if it has none.
Pick model_pick(const Family& family, const Problem& problem, const DeviceSpec& device) {
  const SearchSpace space(family, problem, device);
  const auto ranked = space.ranked(1);
  if (ranked.empty()) return {};
  return {&family, space.config(ranked.front().number), ranked.front().predicted_us};
}

/// Whether clusters have blocks beyond C, as those for the stacked product may.
bool has_idle_blocks(const Problem& problem, const LaunchPlan& plan) {
  const WorkEstimate& work = plan.work;
  const Extent3& grid = main_step(plan).grid;
  return grid.x * grid.y > tiles_of_c(problem, work.tile_m, work.tile_n) * work.split_k;
}

/// The model's pick for a batch, of those that suit the stacked product, or a product alone that is flat.
Pick model_pick(const Family& family, const Problem& problem, const DeviceSpec& device, std::int64_t products) {
  if (products == 1) return model_pick(family, problem, device);
  Pick pick;
  std::vector<Problem> ranked_for{stacked(problem, products)};
  if (problem.m < kFlat) ranked_for.push_back(problem);
  for (const Problem& each_for : ranked_for) {
    const SearchSpace space(family, each_for, device);
    for (const RankedConfig& each : space.ranked(kLookedAt)) {
      Config config = space.config(each.number);
      const auto plan = family.legal_plan(problem, config, device);
      if (!plan || has_idle_blocks(problem, *plan)) continue;
      Pick other = timed(family, std::move(config), *plan, problem, device, products);
      if (other.model_us < pick.model_us) pick = std::move(other);
    }
  }
  return pick;
}

/// The family's proven configuration of the nearest problem that can run this one, with the SPLIT that suits this one.
std::optional<std::pair<double, Pick>> nearest_proven(const Family& family, const Problem& problem,
                                                      const DeviceSpec& device, std::int64_t products) {
  std::optional<std::pair<double, Pick>> nearest;
  for (const Proven& each : family.proven()) {
    if (each.precision != problem.precision) continue;
    Problem where = problem;
    std::tie(where.m, where.n, where.k) = std::tie(each.m, each.n, each.k);
    const double away = distance(problem, where);
    if (nearest && nearest->first <= away) continue;
    Config config = family.with_defaults(Config::parse(each.config), problem);
    if (!family.broken_rule(problem, config, device).empty()) continue;
    config = KernelModel(family, config, problem, device, 0).fitted(family, config, problem, device, products);
    const auto plan = family.legal_plan(problem, config, device);
    if (plan) nearest.emplace(away, timed(family, std::move(config), *plan, problem, device, products));
  }
  return nearest;
}

Choice choice_of(const Pick& pick, const Problem& problem, const DeviceSpec& device, std::int64_t products,
                 std::string_view what) {
  Choice choice;
  choice.match = Match::predicted;
  choice.family = pick.family;
  choice.config = pick.config;
  choice.align = problem.align;
  choice.plan = pick.family->plan(problem, pick.config, device);
  choice.expected_us = pick.model_us / static_cast<double>(products);
  choice.why = fmt::format("nothing is tuned for {} {} on {}: {}, compiled for this call", to_string(problem.precision),
                           to_string(problem.layout), device.name, what);
  return choice;
}

}  // namespace

std::optional<Choice> untuned_choice(const Problem& given, const DeviceSpec& device, std::int64_t products) {
  const Problem problem = with_depth(given);
  Pick pick;
  std::optional<std::pair<double, Pick>> proven;
  for (const Family* family : families()) {
    if (!family->competes()) continue;
    Pick own = model_pick(*family, problem, device, products);
    if (own.model_us < pick.model_us) pick = std::move(own);
    auto near = nearest_proven(*family, problem, device, products);
    if (near && (!proven || near->first < proven->first)) proven = std::move(near);
  }
  std::string_view what = "what the model expects to be the fastest";
  if (proven && proven->second.model_us <= pick.model_us * kProvenIsWorth) {
    pick = std::move(proven->second);
    what = "a configuration that is proven elsewhere";
  }
  if (pick.family == nullptr) return std::nullopt;
  return choice_of(pick, given, device, products, what);
}

}  // namespace mmtune
