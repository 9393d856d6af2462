// The kernels themselves, compiled for the host: every family without tensor cores in configurations that together take
// all of its paths, over shapes, alignments and scalars of every kind, with every access to memory checked.
#include <gtest/gtest.h>

#include <ostream>

#include "templates/families.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

using test::kInfinity;
using test::Scalars;
using test::Values;

constexpr Scalars kBoth{.alpha = 0.75, .beta = -0.5};
constexpr Scalars kWhole{.alpha = 2, .beta = -3};

constexpr Scene kScenes[] = {
    // Aligned to their elements.
    {"one element", 1, 1, 1},
    {"a row, one step", 1, 67, 1, Values::whole, kWhole},
    {"a column", 67, 1, 31, Values::random, kBoth},
    {"below a tile", 5, 7, 3, Values::random, kBoth},
    {"odd", 33, 65, 17, Values::whole, kWhole},
    {"above a tile", 131, 67, 35, Values::whole, {.alpha = 1, .beta = 1}},
    {"deep", 9, 11, 517, Values::random},
    {"odd gaps", 64, 96, 48, Values::whole, kWhole, {.padding = 3, .offset = 1}},
    {"no depth", 33, 35, 0, Values::whole, {.alpha = kInfinity, .beta = -2}},
    {"no depth, nothing to read", 33, 35, 0},
    {"beta without alpha", 33, 35, 21, Values::whole, {.alpha = 0, .beta = 2}},
    // To 16 bytes.
    {"wide", 72, 136, 40, Values::random, kBoth},
    {"wide and deep", 40, 72, 520, Values::whole, kWhole},
    {"wide gaps", 64, 64, 64, Values::whole, {}, {.padding = 16, .offset = 16}},
    {"wide, no depth", 64, 72, 0, Values::whole, {.alpha = 1, .beta = 2}},
    // To something between, or each operand otherwise.
    {"even gaps", 66, 34, 42, Values::whole, kWhole, {.padding = 2, .offset = 2}},
    {"narrow rows of m", 33, 48, 80, Values::whole, kWhole},
    {"narrow rows of n", 48, 33, 80, Values::random, kBoth},
};

struct Case {
  const char* family;
  Precision precision;
  Layout layout;
  const char* config;
};

std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.family << ' ' << to_string(of.precision) << ' ' << to_string(of.layout) << ' ' << of.config;
}

std::vector<Case> cases() {
  struct Row {
    const char* family;
    Precision precision;
    const char* config;
    std::vector<Layout> layouts = {kAllLayouts.begin(), kAllLayouts.end()};
  };
  const std::vector<Row> rows = {
      {"naive", Precision::fp32, ""},
      {"naive", Precision::fp32, "MAPPING=0 BX=1 BY=1", {Layout::nn}},
      {"naive", Precision::fp32, "MAPPING=1 BX=8 BY=16", {Layout::tn}},
      {"naive", Precision::fp32, "MAPPING=3 BX=8 BY=4 COARSE=4", {Layout::nt, Layout::tt}},
      {"tiled", Precision::fp32, ""},
      {"tiled", Precision::fp32, "TILE=4 UNROLL=2", {Layout::tt}},
      {"tiled_coarsened", Precision::fp32, ""},
      {"tiled_coarsened", Precision::fp32, "TILE=8 CM=1 CN=2 UNROLL=1", {Layout::nn, Layout::tt}},
      {"reference", Precision::fp32, ""},
      {"simt", Precision::fp32, ""},
  };
  std::vector<Case> cases;
  for (const Row& row : rows) {
    for (const Layout layout : row.layouts) cases.push_back({row.family, row.precision, layout, row.config});
  }
  return cases;
}

class OnTheHost : public testing::TestWithParam<Case> {};

TEST_P(OnTheHost, ComputesTheProduct) {
  const auto [name, precision, layout, config] = GetParam();
  const Family& family = family_named(name);
  int runs = 0;
  std::map<std::string, Stage> stages;
  for (const Scene& scene : kScenes) {
    const Product product(scene, precision, layout);
    const Config complete = family.complete(Config::parse(config), product.problem());
    Stage& stage = stages.try_emplace(complete.text(), family, complete).first->second;
    if (!stage.can_run(product.problem())) continue;
    constexpr Order kOrders[] = {Order::forward, Order::backward, Order::random};
    const std::string what =
        fmt::format("{} {} for {}: {}", name, complete.text(), to_string(product.problem()), scene.what);
    EXPECT_EQ(stage.run(product, kOrders[runs++ % 3], what), "") << what;
  }
  EXPECT_GT(runs, 0) << "no scene is for this configuration";
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnTheHost, testing::ValuesIn(cases()), [](const auto& instance) {
  const Case& of = instance.param;
  return fmt::format("{}_{}_{}_{}", of.family, to_string(of.precision), to_string(of.layout), instance.index);
});

}  // namespace
}  // namespace mmtune::shim
