#include "runtime/call/route.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mmtune {
namespace {

const Problem kProblem{Precision::fp32, Layout::nn, 64, 64, 64, {}};
const Fusion kPlain{};
const Fusion kRelu{.activation = Activation::relu};
const Fusion kScalars{.loads_scalars = true};

Demand of(const Fusion& fusion) { return {kProblem, fusion, 1}; }

Demand batch_of(Fusion fusion) {
  fusion.batched = true;
  return {kProblem, fusion, 8};
}

/// "8 x (relu and batched launches)", "1 x () then relu", "fallback 1 x ()".
std::string text_of(const Route& route) {
  return fmt::format("{}{} x ({}){}{}", route.is_fallback ? "fallback " : "", route.part.products,
                     to_string(route.part.fusion), route.finish.is_empty() ? "" : " then ", to_string(route.finish));
}

using Texts = std::vector<std::string>;

Texts routes(const Demand& demand, Purpose purpose) {
  Texts texts;
  for (const Route& route : routes_of(demand, purpose)) {
    EXPECT_EQ(route.part.problem, demand.problem);
    texts.push_back(text_of(route));
  }
  return texts;
}

TEST(Routes, OfACallGoFromOneLaunchToTheFallback) {
  EXPECT_EQ(routes(of(kPlain), Purpose::run), (Texts{"1 x ()", "fallback 1 x ()"}));
  EXPECT_EQ(routes(of(kRelu), Purpose::run), (Texts{"1 x (relu)", "1 x () then relu", "fallback 1 x () then relu"}));
  EXPECT_EQ(routes(batch_of(kPlain), Purpose::run), (Texts{"8 x (batched launches)", "1 x ()", "fallback 1 x ()"}));
  EXPECT_EQ(routes(batch_of(kRelu), Purpose::run),
            (Texts{"8 x (relu and batched launches)", "1 x (relu)", "1 x () then relu", "fallback 1 x () then relu"}));
}

TEST(Routes, OnlyAProgramThatLoadsScalarsRunsWithThem) {
  const std::string scalars = to_string(kScalars);
  EXPECT_EQ(routes(of(kScalars), Purpose::run), (Texts{fmt::format("1 x ({})", scalars)}));
  EXPECT_EQ(routes(batch_of(kScalars), Purpose::run),
            (Texts{fmt::format("8 x ({} and batched launches)", scalars), fmt::format("1 x ({})", scalars)}));
  EXPECT_EQ(routes(of(kScalars), Purpose::prepare),
            (Texts{fmt::format("1 x ({})", scalars), fmt::format("fallback 1 x ({})", scalars)}));
}

TEST(Routes, OfAnInvariantProductNeverRoundBeforeTheEpilogue) {
  Demand demand = of(kRelu);
  demand.problem.invariant = true;
  EXPECT_EQ(routes(demand, Purpose::run), (Texts{"1 x (relu)"}));
  demand.fusion = kPlain;
  EXPECT_EQ(routes(demand, Purpose::run), (Texts{"1 x ()", "fallback 1 x ()"}));
}

TEST(Routes, ArePreparedWithoutASecondKernel) {
  EXPECT_EQ(routes(of(kPlain), Purpose::prepare), (Texts{"1 x ()", "fallback 1 x ()"}));
  EXPECT_EQ(routes(of(kRelu), Purpose::prepare), (Texts{"1 x (relu)", "fallback 1 x (relu)"}));
  EXPECT_EQ(routes(batch_of(kRelu), Purpose::prepare),
            (Texts{"8 x (relu and batched launches)", "1 x (relu)", "fallback 1 x (relu)"}));
}

TEST(Routes, OfAPlanEndWithALaunchForEachProduct) {
  EXPECT_EQ(routes(of(kPlain), Purpose::plan), (Texts{"1 x ()"}));
  EXPECT_EQ(routes(of(kRelu), Purpose::plan), (Texts{"1 x (relu)"}));
  EXPECT_EQ(routes(batch_of(kRelu), Purpose::plan), (Texts{"8 x (relu and batched launches)", "1 x (relu)"}));
}

}  // namespace
}  // namespace mmtune
