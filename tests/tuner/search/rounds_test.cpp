#include "tuner/search/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace mmtune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Proposes rounds of these sizes, of the candidates 0, 1, 2 … Notes what was known at every proposal.
class Scripted final : public Strategy {
 public:
  explicit Scripted(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  std::vector<CandidateNumber> propose() override {
    known.push_back(learnt);
    std::vector<CandidateNumber> candidates(round_ < sizes_.size() ? sizes_[round_++] : 0);
    for (CandidateNumber& each : candidates) each = next_++;
    return candidates;
  }
  void learn(CandidateNumber candidate, const Observation&) override { learnt.push_back(candidate); }

  std::vector<CandidateNumber> learnt;
  std::vector<std::vector<CandidateNumber>> known;

 private:
  std::vector<std::size_t> sizes_;
  std::size_t round_ = 0;
  CandidateNumber next_ = 0;
};

TEST(Rounds, FourAreUnderWay) {
  Scripted strategy({2, 1, 2, 1, 3});
  Rounds rounds(strategy);
  for (const std::size_t size : {2U, 1U, 2U, 1U}) EXPECT_EQ(rounds.next().size(), size);
  EXPECT_THAT(rounds.next(), IsEmpty());
  rounds.settle(1, Observation{});
  EXPECT_THAT(rounds.next(), IsEmpty()) << "half of the first is open";
  rounds.settle(0, Observation{});
  EXPECT_EQ(rounds.next().size(), 3U);
  EXPECT_THAT(strategy.learnt, ElementsAre(0, 1)) << "in the order of proposal";
}

TEST(Rounds, WithOneUnderWayAllOfItIsKnownBeforeTheNext) {
  Scripted strategy({2, 1});
  Rounds rounds(strategy, 1);
  EXPECT_EQ(rounds.next().size(), 2U);
  EXPECT_THAT(rounds.next(), IsEmpty());
  rounds.settle(0, Observation{});
  EXPECT_THAT(rounds.next(), IsEmpty()) << "half of the first is open";
  rounds.settle(1, Observation{});
  EXPECT_EQ(rounds.next().size(), 1U);
  EXPECT_THAT(strategy.known.back(), ElementsAre(0, 1));
}

TEST(Rounds, WhatIsProposedDoesNotDependOnWhatIsSettledFirst) {
  const std::vector<std::size_t> sizes{3, 2, 1, 4, 2};
  std::vector<std::vector<CandidateNumber>> known;
  for (unsigned seed = 0; seed < 50; ++seed) {
    Scripted strategy(sizes);
    Rounds rounds(strategy);
    std::mt19937 random(seed);
    std::vector<std::size_t> open;
    std::size_t handed_out = 0;
    for (;;) {
      for (auto round = rounds.next(); !round.empty(); round = rounds.next()) {
        for (std::size_t i = 0; i < round.size(); ++i) open.push_back(handed_out++);
      }
      if (open.empty()) break;
      std::shuffle(open.begin(), open.end(), random);
      // Several at a time: whole rounds may be settled before the next request.
      for (std::size_t count = 1 + random() % open.size(); count > 0; --count) {
        rounds.settle(open.back(), Observation{});
        open.pop_back();
      }
    }
    EXPECT_EQ(handed_out, std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
    EXPECT_EQ(strategy.learnt.size(), handed_out);
    if (seed == 0) known = strategy.known;
    EXPECT_EQ(strategy.known, known);
  }
}

TEST(Rounds, WhatIsUnknownIsNotLearnt) {
  Scripted strategy({2});
  Rounds rounds(strategy);
  rounds.next();
  rounds.settle(0, std::nullopt);
  rounds.settle(1, Observation{});
  EXPECT_THAT(rounds.next(), IsEmpty());
  EXPECT_THAT(strategy.learnt, ElementsAre(1));
}

/// Has something to propose again once it has learnt.
class Hesitant final : public Strategy {
 public:
  std::vector<CandidateNumber> propose() override {
    if (learnt == asked_) return {};
    asked_ = learnt;
    return {learnt};
  }
  void learn(CandidateNumber, const Observation&) override { learnt = std::min(learnt + 1, 3); }

  int learnt = 0;

 private:
  int asked_ = -1;
};

TEST(Rounds, AsksAgainAfterALessonAndOnlyThen) {
  Hesitant strategy;
  Rounds rounds(strategy);
  std::size_t number = 0;
  for (; !rounds.next().empty(); ++number) {
    EXPECT_THAT(rounds.next(), IsEmpty());
    rounds.settle(number, Observation{});
  }
  EXPECT_EQ(number, 4U);
}

}  // namespace
}  // namespace mmtune
