#include "tests/shim/kernel_cases.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace mmtune::shim {
namespace {

using test::Values;

/// What configurations run that were drawn to show what no other one shows.
constexpr Scene kDrawn[] = {
    {"taller than any tile, odd gaps", 261, 35, 75, Values::whole, kWhole, {.padding = 3, .offset = 1}},
    {"wider than any tile", 40, 264, 72, Values::random, kBoth},
    {"deep", 9, 11, 1637, Values::random},
};

/// Whether the configuration can run the scene, and in little time.
bool is_short(const Scene& scene, const Family& family, Layout layout, const Config& config) {
  const Problem problem = problem_of(scene, shown_in(family), layout);
  const auto plan = family.legal_plan(problem, config, device());
  if (!plan) return false;
  std::int64_t threads = 0;
  for (const LaunchStep& step : plan->steps) {
    threads += step.grid.x * step.grid.y * step.grid.z * block_threads(step);
  }
  return threads <= kMostThreads;
}

}  // namespace

Problem typical(Precision precision, Layout layout) { return packed_problem(precision, layout, 16, 64, 64); }

Precision shown_in(const Family& family) {
  static std::map<const Family*, Precision> known;  // It is asked for every configuration that is drawn.
  const auto [found, is_new] = known.try_emplace(&family, Precision::fp32);
  if (!is_new) return found->second;
  for (const Precision precision :
       {Precision::fp32, Precision::fp16, Precision::fp32_emulated, Precision::bf16_x_fp32}) {
    const Problem problem = typical(precision, Layout::nn);
    if (!family.legal_plan(problem, family.default_config(problem), device())) continue;
    found->second = precision;
    break;
  }
  return found->second;
}

test::Sampler sampler_beside(const std::vector<Case>& cases, const Family& family) {
  const Precision precision = shown_in(family);
  test::Sampler sampler(family, device(), 1);
  for (const Case& each : cases) {
    if (each.family != family.name() || each.precision != precision) continue;
    const auto show = [&](std::string_view config) {
      sampler.show(family.with_defaults(family.parse(config), typical(precision, each.layout)));
    };
    show(each.config);
    for (const std::string& config : each.alike) show(config);
  }
  return sampler;
}

std::vector<Scene> scenes_of_drawn(const Family& family, Layout layout, const Config& config) {
  std::vector<Scene> scenes;
  const auto add_if_short = [&](const Scene& scene) {
    if (is_short(scene, family, layout, config)) scenes.push_back(scene);
  };
  std::for_each(std::begin(kDrawn), std::end(kDrawn), add_if_short);
  if (scenes.size() < std::size(kDrawn)) std::for_each(std::begin(kCore), std::end(kCore), add_if_short);
  return scenes;
}

void add_missing_values(const Family& family, std::vector<Case>& cases) {
  std::vector<Problem> problems;
  for (const Layout layout : kAllLayouts) problems.push_back(typical(shown_in(family), layout));
  const auto runs_all_drawn = [&](const Problem& problem, const Config& config) {
    return std::all_of(std::begin(kDrawn), std::end(kDrawn),
                       [&](const Scene& scene) { return is_short(scene, family, problem.layout, config); });
  };
  const auto runs_enough = [&](const Problem& problem, const Config& config) {
    return scenes_of_drawn(family, problem.layout, config).size() >= kFewestScenes;
  };
  test::Sampler sampler = sampler_beside(cases, family);
  for (const test::Sampler::Accepts& accepts : {test::Sampler::Accepts(runs_all_drawn), {runs_enough}}) {
    for (const auto& [problem, config, alike] : sampler.cover(problems, accepts)) {
      cases.push_back({family.name(), problem.precision, problem.layout, config.text(), true});
      for (const Config& each : alike) cases.back().alike.push_back(each.text());
    }
  }
}

}  // namespace mmtune::shim
