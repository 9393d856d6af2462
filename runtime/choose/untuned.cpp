#include "runtime/choose/untuned.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/choose/nearest.h"
#include "templates/family/families.h"
#include "templates/model/cost.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"
#include "templates/space/space.h"

namespace mmtune {
namespace {

// Both are by the times of past searches: docs/lab/2026-11-28-untuned.md.
constexpr std::size_t kNearest = 12;     // the proven configurations among which the model chooses
constexpr double kProvenIsWorth = 1.05;  // the factor by which the one chosen may be slower by the model than others

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

/// A proven configuration, and how far the problem is for which it is.
struct Near {
  double away;
  const Family* family;
  std::string_view config;
};

/// All that families have proven for the precision and those alike, that of the nearest problems first.
std::vector<Near> proven_near(const Problem& problem) {
  std::vector<Near> near;
  for (const Family* family : families()) {
    if (!family->competes()) continue;
    for (const Proven& each : family->proven()) {
      if (!are_alike(each.precision, problem.precision)) continue;
      Problem where = problem;
      std::tie(where.m, where.n, where.k) = std::tie(each.m, each.n, each.k);
      near.push_back({distance(problem, where), family, each.config});
    }
  }
  std::stable_sort(near.begin(), near.end(), [](const Near& x, const Near& y) { return x.away < y.away; });
  return near;
}

/// The proven configuration with the SPLIT that suits the problem; infinitely slow if it can't run it.
Pick fitted_pick(const Near& near, const Problem& problem, const DeviceSpec& device, std::int64_t products) {
  const Family& family = *near.family;
  Config config = family.with_defaults(Config::parse(near.config), problem);
  if (!family.broken_rule(problem, config, device).empty()) return {};
  config = KernelModel(family, config, problem, device, 0).fitted(family, config, problem, device, products);
  const auto plan = family.legal_plan(problem, config, device);
  if (!plan) return {};
  return timed(family, std::move(config), *plan, problem, device, products);
}

/// Of the kNearest proven configurations that can run the problem the one that the model expects to be the fastest;
/// infinitely slow if there is none.
Pick proven_pick(const Problem& problem, const DeviceSpec& device, std::int64_t products) {
  Pick fastest;
  std::size_t left = kNearest;
  for (const Near& near : proven_near(problem)) {
    if (left == 0) break;
    Pick pick = fitted_pick(near, problem, device, products);
    if (pick.family == nullptr) continue;
    --left;
    if (pick.model_us < fastest.model_us) fastest = std::move(pick);
  }
  return fastest;
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
  for (const Family* family : families()) {
    if (!family->competes()) continue;
    Pick own = model_pick(*family, problem, device, products);
    if (own.model_us < pick.model_us) pick = std::move(own);
  }
  std::string_view what = "what the model expects to be the fastest";
  Pick proven = proven_pick(problem, device, products);
  if (proven.model_us <= pick.model_us * kProvenIsWorth) {
    pick = std::move(proven);
    what = "a configuration that is proven elsewhere";
  }
  if (pick.family == nullptr) return std::nullopt;
  return choice_of(pick, given, device, products, what);
}

}  // namespace mmtune
