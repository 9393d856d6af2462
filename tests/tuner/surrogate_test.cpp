#include "tuner/search/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mmtune {
namespace {

/// Half of its time goes to the first thing unless told otherwise.
Features place(std::vector<std::uint16_t> digits, const char* group = "one", double first = 0.5) {
  return {group, std::move(digits), {first, 1 - first}};
}

TEST(Surrogate, StartsFromThePrior) {
  Surrogate surrogate;
  const auto fast = surrogate.add(place({0, 0}), 1.0);
  const auto slow = surrogate.add(place({1, 3}), 2.0);
  surrogate.update();
  EXPECT_DOUBLE_EQ(surrogate.expected(fast), 1);
  EXPECT_DOUBLE_EQ(surrogate.expected(slow), 2);
  EXPECT_DOUBLE_EQ(surrogate.deviation(fast), surrogate.deviation(slow));
  EXPECT_GT(surrogate.improvement(fast, 1.5), surrogate.improvement(slow, 1.5));
}

TEST(Surrogate, AnObservationMovesWhatIsAlikeMost) {
  Surrogate surrogate;
  const auto seen = surrogate.add(place({0, 0, 0}), 1);
  const auto near = surrogate.add(place({0, 0, 1}), 1);
  const auto far = surrogate.add(place({2, 3, 3}), 1);
  const auto stranger = surrogate.add(place({0, 0, 0}, "other"), 1);
  surrogate.plan(seen);
  surrogate.observe(seen, 1.4);
  surrogate.update();
  EXPECT_NEAR(surrogate.expected(seen), 1.4, 0.01);
  EXPECT_GT(surrogate.expected(near), surrogate.expected(far));
  EXPECT_GT(surrogate.expected(far), surrogate.expected(stranger));
  EXPECT_GT(surrogate.expected(stranger), 1) << "what all have in common";
  EXPECT_LT(surrogate.deviation(near), surrogate.deviation(far));
}

TEST(Surrogate, LearnsWhatAValueCosts) {
  Surrogate surrogate;
  const auto cheap = surrogate.add(place({9, 9, 9, 0}), 0);
  const auto dear = surrogate.add(place({9, 9, 9, 1}), 0);
  for (std::uint16_t i = 0; i < 4; ++i) {
    for (std::uint16_t last = 0; last < 2; ++last) {
      const auto seen = surrogate.add(place({i, static_cast<std::uint16_t>(3 - i), i, last}), 0);
      surrogate.plan(seen);
      surrogate.observe(seen, last == 1 ? 0.2 : 0);
    }
  }
  surrogate.update();
  EXPECT_GT(surrogate.expected(dear), surrogate.expected(cheap) + 0.05) << "far from all that was seen";
}

TEST(Surrogate, LearnsWhatTheModelMisjudges) {
  Surrogate surrogate;
  const auto seen = surrogate.add(place({0, 0, 0}, "one", 0.9), 0);
  const auto alike = surrogate.add(place({5, 5, 5}, "other", 0.9), 0);
  const auto other = surrogate.add(place({5, 5, 5}, "other", 0.1), 0);
  surrogate.plan(seen);
  surrogate.observe(seen, 0.3);
  surrogate.update();
  EXPECT_GT(surrogate.expected(alike), 2 * surrogate.expected(other)) << "whose time goes to the same";
}

TEST(Surrogate, TheSameConfigurationInAnotherProblemIsAlmostTheSame) {
  Surrogate surrogate;
  const auto elsewhere = surrogate.add(place({1, 2, 3}, "one", 0.6), 5);
  const auto here = surrogate.add(place({1, 2, 3}), 1);
  const auto neighbour = surrogate.add(place({1, 2, 4}), 1);
  surrogate.plan(elsewhere);
  surrogate.observe(elsewhere, 5.4);
  surrogate.update();
  EXPECT_GT(surrogate.expected(here), 1.25);
  EXPECT_GT(surrogate.expected(here), surrogate.expected(neighbour));
  EXPECT_GT(surrogate.deviation(here), 0) << "but is not known";
}

TEST(Surrogate, APlanNarrowsAndOnlyAnObservationMoves) {
  Surrogate surrogate;
  const auto planned = surrogate.add(place({0, 0}), 1);
  const auto near = surrogate.add(place({0, 1}), 1.2);
  const double before = surrogate.deviation(near);
  surrogate.plan(planned);
  surrogate.update();
  EXPECT_LT(surrogate.deviation(near), before);
  EXPECT_DOUBLE_EQ(surrogate.expected(near), 1.2);
  EXPECT_EQ(surrogate.deviation(planned), 0);
  EXPECT_EQ(surrogate.improvement(planned, 100), 0);
}

TEST(Surrogate, WhatJoinsLateKnowsTheSame) {
  Surrogate surrogate;
  const auto seen = surrogate.add(place({0, 0, 2}), 1);
  const auto other = surrogate.add(place({1, 0, 1}), 1);
  const auto early = surrogate.add(place({1, 1, 1}), 1.1);
  for (const auto each : {seen, other}) surrogate.plan(each);
  surrogate.observe(other, 0.7);
  surrogate.observe(seen, 1.3);
  surrogate.update();
  const auto late = surrogate.add(place({1, 1, 1}), 1.1);
  EXPECT_NEAR(surrogate.expected(late), surrogate.expected(early), 1e-6);
  EXPECT_NEAR(surrogate.deviation(late), surrogate.deviation(early), 1e-6);
}

}  // namespace
}  // namespace mmtune
