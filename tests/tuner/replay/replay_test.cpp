// Strategies on results that are known beforehand.
#include "tuner/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mmtune {
namespace {

using ::testing::ElementsAre;

using Kind = Observation::Kind;

/// Proposes the same four candidates in two rounds and notes what it is told.
class Fixed final : public Strategy {
 public:
  std::vector<CandidateNumber> propose() override {
    if (round_ == 2) return {};
    return round_++ == 0 ? std::vector<CandidateNumber>{10, 11} : std::vector<CandidateNumber>{12, 13};
  }
  void learn(CandidateNumber, const Observation& observation) override { learnt.push_back(observation.time_us); }

  std::vector<double> learnt;

 private:
  int round_ = 0;
};

TEST(Replay, LearnsWhatIsKnownAndCountsTheRest) {
  Fixed strategy;
  const Replay done = replay(strategy, [&](CandidateNumber candidate) -> std::optional<Recollection> {
    if (candidate == 10) return std::nullopt;
    if (candidate == 11) return Recollection{{Kind::too_slow, 5}, 0.5};
    return Recollection{{Kind::timed, candidate == 12 ? 30.0 : 20.0}, 0.25};
  });
  EXPECT_EQ(done.unknown, 1);
  EXPECT_THAT(strategy.learnt, ElementsAre(5, 30, 20));
  ASSERT_EQ(done.steps.size(), 3U);
  EXPECT_EQ(done.steps[0].best_us, 0) << "too slow is not right";
  EXPECT_EQ(done.steps[1].best_us, 30);
  EXPECT_EQ(done.steps[2].best_us, 20);
  EXPECT_DOUBLE_EQ(done.steps[2].seconds, 1);
  EXPECT_EQ(done.best, 13);
}

TEST(Replay, StopsAfterItsBudgetOnceSomethingWasRight) {
  Fixed strategy;
  const auto recall = [](CandidateNumber candidate) {
    return Recollection{{candidate < 12 ? Kind::failed : Kind::timed, 10}, 1};
  };
  EXPECT_EQ(replay(strategy, recall, 0.5).steps.size(), 3U);
}

}  // namespace
}  // namespace mmtune
