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

TEST(Surrogate, WithoutAModelAllAreExpectedToTakeWhatOthersTake) {
  Surrogate surrogate;
  const auto fast = surrogate.add_without_model(place({0, 0}), 0);
  const auto slow = surrogate.add_without_model(place({9, 9}), 0);
  const auto between = surrogate.add_without_model(place({4, 5}), 0);
  const auto modelled = surrogate.add(place({4, 5}, "other"), 3);
  for (const auto each : {fast, slow}) surrogate.plan(each);
  surrogate.observe(fast, std::log(10));
  surrogate.observe(slow, std::log(30));
  surrogate.update();
  EXPECT_NEAR(surrogate.expected(fast), std::log(10), 0.05);
  EXPECT_NEAR(surrogate.expected(slow), std::log(30), 0.05);
  EXPECT_NEAR(surrogate.expected(between), std::log(15), 0.1) << "the average of the speeds";
  EXPECT_GT(surrogate.deviation(between), 2 * surrogate.deviation(modelled)) << "much more is unknown";
}

TEST(Surrogate, AFailureCountsAsSlowAndItsTimeAsNone) {
  for (const bool is_modelled : {true, false}) {
    Surrogate surrogate;
    const auto add = [&](std::vector<std::uint16_t> digits) {
      Features features = place(std::move(digits));
      return is_modelled ? surrogate.add(features, 2) : surrogate.add_without_model(features, 0);
    };
    const auto failed = add({0, 0});
    const auto near = add({0, 1});
    const auto timed = add({0, 9});
    for (const auto each : {failed, timed}) surrogate.plan(each);
    surrogate.observe_failure(failed);
    surrogate.observe(timed, 2);
    surrogate.update();
    EXPECT_GT(surrogate.expected(near), 2.1) << is_modelled;
    EXPECT_NEAR(surrogate.expected(timed), 2, 0.02) << is_modelled;
  }
}

}  // namespace
}  // namespace mmtune
