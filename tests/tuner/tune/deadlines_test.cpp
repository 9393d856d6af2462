#include "tuner/tune/deadlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace mmtune {
namespace {

using namespace std::chrono_literals;
using Clock = Deadlines::Clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Deadlines, ShareWhatIsLeft) {
  const Clock::time_point begin{};
  Deadlines deadlines(begin + 100s);
  EXPECT_EQ(deadlines.next(begin, 10, 1), begin + 10s);
  EXPECT_EQ(deadlines.next(begin + 60s, 4, 1), begin + 70s);
  EXPECT_EQ(deadlines.next(begin, 10, 2), begin + 20s) << "two at once";
  EXPECT_EQ(deadlines.next(begin, 1, 2), begin + 100s) << "the last one has a lane to itself";
}

TEST(Deadlines, LeaveTheLastProblemsAsMuchTimeAsTheOthers) {
  constexpr int kProblems = 200;
  const Clock::time_point end = Clock::time_point{} + 200s;
  Deadlines deadlines(end);
  Clock::time_point now{};
  for (int i = 0; i < kProblems; ++i) {
    const Clock::time_point deadline = deadlines.next(now, static_cast<std::size_t>(kProblems - i), 1);
    if (i > 0) {
      EXPECT_NEAR(std::chrono::duration<double>(deadline - now).count(), 0.7, 0.01) << i;
    }
    now = deadline + 300ms;  // A race takes so long beyond it.
    deadlines.ended(deadline, now);
  }
  EXPECT_LE(now, end + 300ms);
}

TEST(Deadlines, GiveTheFirstProblemWhatTheOthersGet) {
  const Clock::time_point begin{};
  Deadlines deadlines(begin + 100s, 4s);
  EXPECT_EQ(deadlines.next(begin, 10, 1), begin + 6s);
  deadlines.ended(begin + 6s, begin + 10s);
  EXPECT_EQ(deadlines.next(begin + 10s, 9, 1), begin + 16s);
}

TEST(Deadlines, AProblemFitsIfItEndsInTimeAsTheOthersDid) {
  const Clock::time_point begin{};
  Deadlines deadlines(begin + 10s);
  EXPECT_TRUE(deadlines.fits(begin + 20s, begin + 10s)) << "the first one is not left";
  deadlines.ended(begin + 1s, begin + 4s);
  EXPECT_TRUE(deadlines.fits(begin + 6s, begin + 10s));
  EXPECT_FALSE(deadlines.fits(begin + 7s, begin + 10s)) << "the one before took 3 s beyond its deadline";
}

// This is a run of 24 sizes in 110 s, where the races of the large ones at the end took longer than those before.
TEST(Deadlines, TheLastProblemGetsWhatTheFirstGotWhateverTheOthersTook) {
  constexpr int kProblems = 24;
  const Clock::time_point begin{};
  Deadlines deadlines(begin + 110s, 1500ms);
  Clock::time_point now = begin;
  std::vector<Clock::duration> searches;
  for (int i = 0; i < kProblems; ++i) {
    const Clock::time_point deadline = deadlines.next(now, static_cast<std::size_t>(kProblems - i), 1);
    searches.push_back(deadline - now);
    now = deadline + (i < 16 ? 1500ms : 3000ms);
    deadlines.ended(deadline, now);
  }
  EXPECT_GE(std::chrono::duration<double>(searches.back()).count(),
            std::chrono::duration<double>(searches.front()).count() - 0.5)
      << "less by no more than the races are longer on average";
  EXPECT_LT(now - begin, 120s);
}

// This is a run of 70 sizes in 90 s on a host that compiles slowly.
TEST(Deadlines, TheBudgetIsKeptWhateverProblemsTakeBeyondTheirTime) {
  constexpr int kProblems = 70;
  const Clock::time_point begin{};
  const Clock::time_point latest = begin + 90s + std::chrono::duration_cast<Clock::duration>(tolerance(90s));
  for (const auto overtime : {600ms, 1200ms, 2000ms}) {
    Deadlines deadlines(begin + 90s, 600ms);
    Clock::time_point now = begin;
    int tuned = 0;
    for (; tuned < kProblems && deadlines.fits(now, latest); ++tuned) {
      const Clock::time_point deadline = deadlines.next(now, static_cast<std::size_t>(kProblems - tuned), 1);
      now = deadline + overtime;
      deadlines.ended(deadline, now);
    }
    EXPECT_LE(now, latest) << overtime.count();
    EXPECT_EQ(tuned, overtime < 2000ms ? kProblems : 49) << "as many as take that long";
  }
}

TEST(Deadlines, WhatARunMayTakeLongerIsSharedByThoseThatWait) {
  const Clock::time_point begin{};
  Deadlines deadlines(begin + 100s);
  deadlines.next(begin, 20, 1);
  EXPECT_EQ(deadlines.patience(begin, 20, 1), 2500ms) << "half of its time";
  EXPECT_EQ(deadlines.patience(begin, 20, 2), 5s) << "two at once";
  EXPECT_EQ(deadlines.patience(begin, 1, 1), 10s) << "no more than the run";
  EXPECT_EQ(deadlines.patience(begin + 109800ms, 2, 1), 200ms) << "that is all there is left";
  EXPECT_EQ(deadlines.patience(begin + 111s, 1, 1), 0s);
  EXPECT_EQ(deadlines.part(begin + 20s, 16, 1), 5s);
  deadlines.ended(begin, begin + 5s);
  EXPECT_EQ(deadlines.patience(begin, 20, 1), 500ms) << "a tenth of the budget, for twenty without time to search";
}

TEST(Deadlines, CompilersMakeWhatSearchesHaveTimeFor) {
  const Pace plenty = pace_of(7s, 700ms, 16);
  EXPECT_EQ(plenty.at_once, 160U);
  EXPECT_EQ(plenty.ahead, 1U);
  const Pace tight = pace_of(500ms, 1s, 16);
  EXPECT_EQ(tight.at_once, 8U);
  EXPECT_EQ(tight.ahead, 4U) << "three searches last as long as one and a half sources compile";
  for (const auto part : {1ms, 0ms, -5000ms}) {
    const Pace late = pace_of(part, 2s, 1);
    EXPECT_EQ(late.at_once, 2U);
    EXPECT_EQ(late.ahead, Pace::kMostAhead);
  }
}

TEST(Deadlines, RunThatCannotKeepItsBudgetSaysSo) {
  EXPECT_EQ(budget_shortfall(60, 24, 1, 2.0), "");
  EXPECT_EQ(budget_shortfall(0, 24, 1, 2.0), "") << "no budget";
  EXPECT_THAT(budget_shortfall(20, 46, 1, 2.0), AllOf(HasSubstr("46 problems"), HasSubstr("92 s"), HasSubstr("; ")));
  EXPECT_EQ(budget_shortfall(50, 46, 2, 2.0), "") << "two at once";
  EXPECT_EQ(budget_excess(20, 22), "");
  EXPECT_EQ(budget_excess(0, 84), "");
  EXPECT_THAT(budget_excess(20, 84), AllOf(HasSubstr("20s"), HasSubstr("84 s"), HasSubstr("; ")));
}

TEST(Deadlines, WhatABudgetHasNoTimeForIsNamed) {
  EXPECT_EQ(budget_left(20, {}), "");
  const std::vector<Problem> left{packed_problem(Precision::fp32, Layout::nn, 64, 32, 16),
                                  packed_problem(Precision::fp16, Layout::nt, 8, 64, 64)};
  EXPECT_THAT(budget_left(20, left),
              AllOf(HasSubstr("20s"), HasSubstr("2 problems"), HasSubstr("fp32 nn 64x32x16, fp16 nt 8x64x64;")));
  EXPECT_THAT(budget_left(20, std::vector<Problem>(10'000, left[0])), HasSubstr("…"));
}

TEST(Deadlines, LeastTimeOfAProblemIsThatOfItsFirstCandidates) {
  EXPECT_GT(least_problem_s(true, 2), least_problem_s(false, 2)) << "a race";
  EXPECT_GT(least_problem_s(false, 2), least_problem_s(false, 16));
  EXPECT_EQ(least_problem_s(false, 0), least_problem_s(false, 1));
}

TEST(Deadlines, AreNotMovedByProblemsThatEndBefore) {
  const Clock::time_point begin{};
  Deadlines deadlines(begin + 100s);
  deadlines.ended(begin + 10s, begin + 2s);
  EXPECT_EQ(deadlines.next(begin + 2s, 7, 1), begin + 16s);
}

TEST(Deadlines, AreNowWhereNothingIsLeft) {
  const Clock::time_point begin{};
  Deadlines deadlines(begin + 10s);
  EXPECT_EQ(deadlines.next(begin + 12s, 3, 1), begin + 12s);
  deadlines.ended(begin, begin + 5s);
  EXPECT_EQ(deadlines.next(begin + 5s, 2, 1), begin + 5s);
}

}  // namespace
}  // namespace mmtune
