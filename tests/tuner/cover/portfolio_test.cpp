#include "tuner/cover/portfolio.h"

#include <gmock/gmock.h>

#include <limits>

namespace mmtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr double kNever = std::numeric_limits<double>::infinity();

TimeMatrix matrix(std::vector<std::vector<double>> times) {
  TimeMatrix made{times.front().size(), std::vector<double>(times.size(), 1.0), std::move(times)};
  return made;
}

TEST(Portfolio, OneKernelForAllGoesBeforeOneForEach) {
  // Kernel 2 is never the fastest and always close.
  const auto times = matrix({{10, 30, 10.2}, {30, 10, 10.2}});
  const Portfolio portfolio = choose_portfolio(times, 3, 0.05);
  EXPECT_THAT(portfolio.kernels, ElementsAre(2));
  EXPECT_NEAR(portfolio.mean_loss, 0.02, 1e-12);
  EXPECT_NEAR(portfolio.worst_loss, 0.02, 1e-12);
}

TEST(Portfolio, EndsWithTheLossOrTheNumberOrWhenNothingIsGained) {
  const auto times = matrix({{10, 11, 20}, {20, 11, 10}});
  EXPECT_THAT(choose_portfolio(times, 3, 0.11).kernels, ElementsAre(1));
  EXPECT_THAT(choose_portfolio(times, 2, 0).kernels, testing::SizeIs(2));
  const Portfolio all = choose_portfolio(times, 9, 0);
  EXPECT_THAT(all.kernels, UnorderedElementsAre(0, 1, 2));
  EXPECT_EQ(all.mean_loss, 0);
  EXPECT_THAT(choose_portfolio(matrix({{10, 10}}), 9, 0).kernels, testing::SizeIs(1));
}

TEST(Portfolio, WhatServesBetterThanTheFirstOnesIsAdded) {
  const auto times = matrix({{10, 11, 12, 20}, {30, 20, 21, 10}});
  EXPECT_THAT(choose_portfolio(times, 3, 0, {1}).kernels, ElementsAre(1, 3, 0));
  EXPECT_THAT(choose_portfolio(times, 2, 0, {0, 1}).kernels, ElementsAre(0, 1)) << "there is no room for another";
  EXPECT_THAT(choose_portfolio(times, 3, 0, {0, 3}).kernels, ElementsAre(0, 3));
}

TEST(Portfolio, SizesThatNoOtherKernelServesAreServed) {
  const auto times = matrix({{10, kNever}, {10, kNever}, {10, kNever}, {kNever, 70}});
  EXPECT_THAT(choose_portfolio(times, 2, 0).kernels, UnorderedElementsAre(0, 1));
  const Portfolio one = choose_portfolio(times, 1, 0);
  EXPECT_THAT(one.kernels, ElementsAre(0));
  EXPECT_GT(one.worst_loss, 1);
}

TEST(Portfolio, WeightsSayWhichSizesMatter) {
  TimeMatrix times = matrix({{10, 20}, {20, 10}});
  times.weights = {1, 5};
  EXPECT_THAT(choose_portfolio(times, 1, 0).kernels, ElementsAre(1));
  times.weights = {5, 1};
  EXPECT_THAT(choose_portfolio(times, 1, 0).kernels, ElementsAre(0));
}

TEST(Portfolio, ALargeLossCountsMoreThanManySmallOnes) {
  // Kernel 0 saves 3 % at ten sizes, kernel 1 saves a factor of two at one.
  std::vector<std::vector<double>> times(10, {10, 10.3});
  times.push_back({20, 10});
  EXPECT_THAT(choose_portfolio(matrix(times), 1, 0).kernels, ElementsAre(1));
}

TEST(Portfolio, KernelsOfOneProgramCountOnce) {
  TimeMatrix times = matrix({{10, 30, 40, 28}, {30, 10, 40, 28}, {40, 40, 10, 40}});
  times.programs = {0, 0, 1, 2};
  const Portfolio two = choose_portfolio(times, 2, 0);
  EXPECT_THAT(two.kernels, UnorderedElementsAre(0, 1, 2));
  EXPECT_EQ(two.programs.size(), 2u);
  EXPECT_EQ(two.mean_loss, 0);
  const Portfolio one = choose_portfolio(times, 1, 0);
  EXPECT_THAT(one.kernels, testing::Not(testing::Contains(2))) << "of another program";
  EXPECT_EQ(one.programs.size(), 1u);
  times.programs = {};
  EXPECT_EQ(choose_portfolio(times, 2, 0).kernels.size(), 2u);
}

TEST(Portfolio, SizesWithoutTimesCostNothing) {
  EXPECT_THAT(choose_portfolio(matrix({{kNever, kNever}}), 2, 0).kernels, IsEmpty());
  EXPECT_EQ(choose_portfolio(matrix({{kNever, kNever}}), 2, 0).mean_loss, 0);
}

}  // namespace
}  // namespace mmtune
