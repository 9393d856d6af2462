// The strategy for times that are the model's own: in its order, and no further than something is learnt.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/family_spaces.h"

namespace mmtune {
namespace {

class RankedStrategy : public ::testing::Test {
 protected:
  std::unique_ptr<Strategy> strategy(std::vector<CandidateNumber> favourites = {}, bool is_predicted = false) const {
    StrategySetup setup{spaces_, effort_named("default").most_trials, 1, std::move(favourites)};
    setup.is_predicted = is_predicted;
    return make_strategy("ranked", setup);
  }

  /// The expected times, each once, shortest first.
  std::vector<double> expected_us() const {
    std::set<double> times;
    for (const RankedCandidate& each : spaces_.ranked(10000)) times.insert(each.expected_us);
    return {times.begin(), times.end()};
  }

  /// What is proposed where every candidate comes to `time_us` of its number; 0: it fails.
  template <class TimeUs>
  static std::vector<CandidateNumber> proposed(Strategy& strategy, TimeUs time_us) {
    std::vector<CandidateNumber> all;
    for (auto candidates = strategy.propose(); !candidates.empty(); candidates = strategy.propose()) {
      for (const CandidateNumber candidate : candidates) {
        const double time = time_us(static_cast<int>(all.size()));
        all.push_back(candidate);
        strategy.learn(candidate, {time > 0 ? Observation::Kind::timed : Observation::Kind::failed, time});
      }
    }
    return all;
  }

  static constexpr std::size_t kPatience = 8;  // a twentieth of the default effort

  const FamilySpaces spaces_{{&family_named("simt")},
                             packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024),
                             catalog_gpu("h200"),
                             parse_restriction("BM=64,128 BN=64,128 BK=8,16,32 TM=4,8 TN=4,8 LOAD=2 UNROLL=16")};
};

TEST_F(RankedStrategy, GoesInTheOrderOfTheModelOneOfEachTime) {
  const auto all = proposed(*strategy(), [](int) { return 5.0; });
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all.front(), spaces_.ranked(1)[0].number);
  std::set<double> times;
  double before = 0;
  for (const CandidateNumber candidate : all) {
    const double expected_us = spaces_.describe(candidate).expected_us;
    EXPECT_GE(expected_us, before);
    EXPECT_TRUE(times.insert(expected_us).second) << "one stands for all that the model cannot tell apart";
    before = expected_us;
  }
}

TEST_F(RankedStrategy, EndsWhenCompilingMoreIsNoBetter) {
  EXPECT_LE(proposed(*strategy(), [](int) { return 5.0; }).size(), 1 + kPatience);
  // One that is better is followed by as many again.
  const auto all = proposed(*strategy(), [](int number) { return number == 3 ? 4.0 : 5.0; });
  EXPECT_GE(all.size(), 4 + kPatience);
  EXPECT_LE(all.size(), 4 + kPatience);
}

TEST_F(RankedStrategy, PredictionsEndWhereNoneIsExpectedToBeFaster) {
  const auto expected = expected_us();
  const auto predicted = [&](const std::function<double(int)>& time_us) {
    return proposed(*strategy({}, true), time_us).size();
  };
  EXPECT_EQ(predicted([&](int) { return expected[0]; }), 1);
  // The compiler's registers make the first as slow as the fourth is expected to be.
  EXPECT_EQ(predicted([&](int number) { return number == 0 ? expected[3] : 2 * expected[3]; }), 3);
  EXPECT_EQ(predicted([&](int number) { return number == 2 ? 0.0 : 2 * expected[9]; }), 1 + kPatience)
      << "none is as fast as expected";
  EXPECT_EQ(proposed(*strategy(), [&](int) { return expected[0]; }).size(), 1 + kPatience) << "measured times";
}

TEST_F(RankedStrategy, FailuresAloneDoNotEndIt) {
  const auto all = proposed(*strategy(), [](int number) { return number < 30 ? 0.0 : 5.0; });
  EXPECT_GT(all.size(), 30U);
}

TEST_F(RankedStrategy, NeverTriesMoreThanTheEffort) {
  const auto most = static_cast<std::size_t>(effort_named("default").most_trials);
  EXPECT_LE(proposed(*strategy(), [](int number) { return 1000.0 - number; }).size(), most);
}

TEST_F(RankedStrategy, BeginsWithFavourites) {
  const CandidateNumber last = spaces_.ranked(500).back().number;
  const auto all = proposed(*strategy({last}), [](int) { return 5.0; });
  EXPECT_EQ(all.front(), last);
  EXPECT_NE(strategy({last}, true)->propose().front(), last) << "a prediction depends on no other size";
}

}  // namespace
}  // namespace mmtune
