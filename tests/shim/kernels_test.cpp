// The kernels themselves, compiled for the host: every family that the host can run in configurations that together
// take all of its paths, over shapes, alignments and scalars of every kind, with every access to memory checked. Tests
// named Thorough show every value of every parameter once. With MMTUNE_TEST_ALL_KERNELS set, all tests show every value
// in all precisions and layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "templates/family/families.h"
#include "tests/kernel_case.h"
#include "tests/shim/kernel_cases.h"

namespace mmtune::shim {
namespace {

using test::kInfinity;
using test::Values;

/// What default configurations run besides: every other alignment too.
constexpr Scene kMore[] = {
    {"a row, one step", 1, 67, 1, Values::whole, kWhole},
    {"a column", 67, 1, 31, Values::random, kBoth},
    {"primes", 131, 67, 37, Values::random},
    {"no depth", 33, 35, 0, Values::whole, {.alpha = kInfinity, .beta = -2}},
    {"beta without alpha", 33, 35, 21, Values::whole, {.alpha = 0, .beta = 2}},
    {"whole tiles", 64, 64, 64},
    {"even gaps", 66, 34, 42, Values::whole, kWhole, {.padding = 2, .offset = 2}},
    {"narrow rows of m", 33, 48, 80, Values::whole, kWhole},
    {"narrow rows of n", 48, 33, 80, Values::random, kBoth},
};

/// What configurations run besides whose blocks take tiles in turn, or that can run little of the above.
constexpr Scene kTurns[] = {
    {"many tiles", 208, 272, 144, Values::random, kBoth},
    {"many tiles, deep, gaps", 272, 144, 656, Values::whole, kWhole, {.padding = 16, .offset = 16}},
    {"many tiles, an odd width", 208, 133, 272, Values::whole, {.alpha = 1, .beta = 1}},
};

/// Every value of every parameter, in every precision and layout.
std::vector<Case> all_cases() {
  constexpr int kConfigs = 6;  // configurations besides those that show a value for the first time
  std::vector<Case> cases;
  for (const Family* family : families()) {
    test::Sampler sampler(*family, device(), 1);
    for (const Precision precision : kAllPrecisions) {
      for (const Layout layout : kAllLayouts) {
        for (const Config& config : sampler.draw(packed_problem(precision, layout, 256, 256, 4096), kConfigs)) {
          cases.push_back({family->name(), precision, layout, config.text()});
        }
      }
    }
  }
  return cases;
}

/// Takes long; meant for changes of a kernel.
bool wants_all() { return std::getenv("MMTUNE_TEST_ALL_KERNELS") != nullptr; }

/// A case's configuration, which is the one for each problem where the case has no settings of its own.
class Stages {
 public:
  explicit Stages(const Case& of) : of_(of), family_(family_named(of.family)) {}

  Stage& at(const Problem& problem) {
    const Problem defaults = of_.config.empty() ? problem : typical(of_.precision, of_.layout);
    Stage stage(family_, of_.config, defaults);
    return stages_.try_emplace(stage.name(), std::move(stage)).first->second;
  }

 private:
  const Case& of_;
  const Family& family_;
  std::map<std::string, Stage> stages_;
};

/// Runs the scenes that the case can run, each in the next order of threads; returns their number and that of `runs`
/// before.
int run(Stages& stages, Precision precision, Layout layout, std::span<const Scene> scenes, int runs = 0) {
  for (const Scene& scene : scenes) {
    const Product product(scene, precision, layout);
    Stage& stage = stages.at(product.problem());
    if (!stage.can_run(product.problem())) continue;
    const std::string what = fmt::format("{} for {}: {}", stage.name(), to_string(product.problem()), scene.what);
    const auto order = static_cast<Order>(runs++ % 3);
    EXPECT_EQ(stage.run(product, order, what), "") << what << ", in " << to_string(order) << " order";
  }
  return runs;
}

/// Runs what was made for drawn configurations.
void run_drawn(const Case& of) {
  Stages stages(of);
  const Stage& stage = stages.at(typical(of.precision, of.layout));
  const std::vector<Scene> scenes = scenes_of_drawn(stage.family(), of.layout, stage.config());
  EXPECT_EQ(run(stages, of.precision, of.layout, scenes), static_cast<int>(scenes.size()));
}

class OnTheHost : public testing::TestWithParam<Case> {};

TEST_P(OnTheHost, ComputesTheProduct) {
  const auto& [family, precision, layout, settings, is_drawn, alike] = GetParam();
  Stages stages(GetParam());
  const Stage& stage = stages.at(typical(precision, layout));
  const std::string beyond = stage.beyond(typical(precision, layout));
  if (!beyond.empty()) GTEST_SKIP() << beyond;
  if (is_drawn) {
    run_drawn(GetParam());
    for (const std::string& config : alike) run_drawn({family, precision, layout, config, true});
    return;
  }
  int runs = run(stages, precision, layout, kCore);
  if (settings.empty()) {
    EXPECT_EQ(runs, std::size(kCore)) << "a default can run everything";
  }
  if (runs < static_cast<int>(kFewestScenes) || stage.takes_turns(typical(precision, layout))) {
    runs = run(stages, precision, layout, kTurns, runs);
  }
  // A case that can run a single scene runs it in every order.
  while (runs > 0 && runs < static_cast<int>(kFewestScenes)) runs = run(stages, precision, layout, kCore, runs);
  EXPECT_GE(runs, static_cast<int>(kFewestScenes)) << "not every order of threads was seen";
  if (wants_all() || (precision == shown_in(stage.family()) && settings.empty())) run(stages, precision, layout, kMore);
}

TEST(CasesOnTheHost, ShowEveryValueOfEveryParameterAndDefaultsInEveryLayout) {
  std::vector<Case> cases = covering_cases();
  for (Case& each : further_cases()) cases.push_back(std::move(each));
  for (const Family* family : families()) {
    const Precision shown = shown_in(*family);
    const Problem problem = typical(shown, Layout::nn);
    if (!Stage(*family, "", problem).beyond(problem).empty()) continue;  // the GPU suite covers it
    EXPECT_EQ(sampler_beside(cases, *family).not_shown(), "")
        << family->name() << ": no case on the host has these values. Of the configurations with them that were drawn, "
        << "each can run fewer than " << kFewestScenes << " scenes with up to " << kMostThreads
        << " threads; add a case with them to further_cases() in tests/shim/chosen_cases.cpp, or a smaller scene to "
           "kCore";
    for (const Layout layout : kAllLayouts) {
      EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                              [&](const Case& each) {
                                return each.family == family->name() && each.precision == shown &&
                                       each.layout == layout && each.config.empty();
                              }))
          << family->name() << ' ' << to_string(layout);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnTheHost, testing::ValuesIn(wants_all() ? all_cases() : covering_cases()),
                         test::name_of_case);
INSTANTIATE_TEST_SUITE_P(Thorough, OnTheHost, testing::ValuesIn(further_cases()), test::name_of_case);

}  // namespace
}  // namespace mmtune::shim
