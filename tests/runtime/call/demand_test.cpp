#include "runtime/call/demand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace mmtune {
namespace {

/// Demands of which no two are alike, each with an extreme value of a field.
std::vector<Demand> different_demands() {
  const Problem plain{Precision::fp32, Layout::nn, 1, 1, 1, {}};
  std::vector<Demand> demands{{plain}};
  const auto add = [&](const auto& change) {
    demands.push_back({plain});
    change(demands.back());
  };
  for (const Precision precision : kAllPrecisions) {
    if (precision != plain.precision) add([&](Demand& demand) { demand.problem.precision = precision; });
  }
  for (const Layout layout : kAllLayouts) {
    if (layout != plain.layout) add([&](Demand& demand) { demand.problem.layout = layout; });
  }
  for (std::int64_t Problem::*extent : {&Problem::m, &Problem::n, &Problem::k}) {
    for (const std::int64_t value : {std::int64_t{2}, Problem::kMostExtent}) {
      add([&](Demand& demand) { demand.problem.*extent = value; });
    }
  }
  add([](Demand& demand) { demand.problem.k = 0; });
  add([](Demand& demand) { demand.problem.invariant = true; });
  for (int Alignment::*operand : {&Alignment::a, &Alignment::b, &Alignment::c}) {
    for (const int bytes : {1, 2, 4, 8}) add([&](Demand& demand) { demand.problem.align.*operand = bytes; });
  }
  for (const Activation activation : {Activation::relu, Activation::gelu}) {
    add([&](Demand& demand) { demand.fusion.activation = activation; });
  }
  for (const Bias bias : {Bias::per_row, Bias::per_column}) add([&](Demand& demand) { demand.fusion.bias = bias; });
  add([](Demand& demand) { demand.fusion.loads_scalars = true; });
  for (const std::int64_t products : {1 << 1, 1 << 16}) {
    add([&](Demand& demand) {
      demand.fusion.batched = true;
      demand.products = products;
    });
  }
  return demands;
}

TEST(DemandKey, TellsDemandsAndContextsApart) {
  const std::vector<Demand> demands = different_demands();
  const auto context = reinterpret_cast<CUcontext>(std::uintptr_t{0x7f0000001000});
  std::vector<DemandKey> keys;
  for (const Demand& demand : demands) {
    keys.push_back({nullptr, demand});
    keys.push_back({context, demand});
  }
  std::set<std::uint64_t> hashes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j) EXPECT_EQ(keys[i] == keys[j], i == j) << i << " " << j;
    hashes.insert(DemandHash{}(keys[i]) >> 32);
  }
  EXPECT_EQ(hashes.size(), keys.size());
}

TEST(DemandKey, KeepsTheProblem) {
  for (const Demand& demand : different_demands()) {
    EXPECT_EQ(DemandKey(nullptr, demand).problem(), demand.problem) << to_string(demand.problem);
  }
}

TEST(DemandKey, HashesOfAGridOfSizesAreSpread) {
  constexpr std::size_t kBits = 12, kExtents = 16;
  std::vector<int> in_slot(std::size_t{1} << kBits);
  for (std::int64_t m = 1; m <= std::int64_t{kExtents}; ++m) {
    for (std::int64_t n = 1; n <= std::int64_t{kExtents}; ++n) {
      for (std::int64_t k = 1; k <= std::int64_t{kExtents}; ++k) {
        const Problem problem{Precision::fp32, Layout::nn, 256 * m, 256 * n, 256 * k, {}};
        ++in_slot[DemandHash{}({nullptr, {problem}}) >> (64 - kBits)];
      }
    }
  }
  // There are as many as slots: by chance 37 % of these stay empty, and the fullest has 6 or 7.
  EXPECT_LT(std::count(in_slot.begin(), in_slot.end(), 0), 0.45 * static_cast<double>(in_slot.size()));
  EXPECT_LE(*std::max_element(in_slot.begin(), in_slot.end()), 10);
}

}  // namespace
}  // namespace mmtune
