#include "tuner/search/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "templates/families.h"

namespace mmtune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Proposes rounds of these sizes, of candidates that are told apart by their predictions: 0, 1, 2 … Notes what was
/// known at every proposal.
class Scripted final : public Strategy {
 public:
  explicit Scripted(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  std::vector<Candidate> propose() override {
    known.push_back(learnt);
    std::vector<Candidate> candidates(round_ < sizes_.size() ? sizes_[round_++] : 0);
    for (Candidate& candidate : candidates) candidate = {&family_named("naive"), {}, static_cast<double>(next_++)};
    return candidates;
  }
  void learn(const Candidate& candidate, const Trial&) override {
    learnt.push_back(static_cast<int>(candidate.predicted_us));
  }

  std::vector<int> learnt;
  std::vector<std::vector<int>> known;

 private:
  std::vector<std::size_t> sizes_;
  std::size_t round_ = 0;
  int next_ = 0;
};

TEST(Rounds, FourAreUnderWay) {
  Scripted strategy({2, 1, 2, 1, 3});
  Rounds rounds(strategy);
  for (const std::size_t size : {2U, 1U, 2U, 1U}) EXPECT_EQ(rounds.next().size(), size);
  EXPECT_THAT(rounds.next(), IsEmpty());
  rounds.settle(1, Trial{});
  EXPECT_THAT(rounds.next(), IsEmpty()) << "half of the first is open";
  rounds.settle(0, Trial{});
  EXPECT_EQ(rounds.next().size(), 3U);
  EXPECT_THAT(strategy.learnt, ElementsAre(0, 1)) << "in the order of proposal";
}

TEST(Rounds, WhatIsProposedDoesNotDependOnWhatIsSettledFirst) {
  const std::vector<std::size_t> sizes{3, 2, 1, 4, 2};
  std::vector<std::vector<int>> known;
  for (unsigned seed = 0; seed < 50; ++seed) {
    Scripted strategy(sizes);
    Rounds rounds(strategy);
    std::mt19937 random(seed);
    std::vector<std::size_t> open;
    std::size_t handed_out = 0;
    for (;;) {
      for (auto candidates = rounds.next(); !candidates.empty(); candidates = rounds.next()) {
        for (std::size_t i = 0; i < candidates.size(); ++i) open.push_back(handed_out++);
      }
      if (open.empty()) break;
      std::shuffle(open.begin(), open.end(), random);
      // Several at a time: whole rounds may be settled before the next request.
      for (std::size_t count = 1 + random() % open.size(); count > 0; --count) {
        rounds.settle(open.back(), Trial{});
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
  rounds.settle(1, Trial{});
  EXPECT_THAT(rounds.next(), IsEmpty());
  EXPECT_THAT(strategy.learnt, ElementsAre(1));
}

/// Has something to propose again once it has learnt.
class Hesitant final : public Strategy {
 public:
  std::vector<Candidate> propose() override {
    if (learnt == asked_) return {};
    asked_ = learnt;
    return {{&family_named("naive"), {}, 0}};
  }
  void learn(const Candidate&, const Trial&) override { learnt = std::min(learnt + 1, 3); }

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
    rounds.settle(number, Trial{});
  }
  EXPECT_EQ(number, 4U);
}

}  // namespace
}  // namespace mmtune
