#include "tuner/tune/deadlines.h"

#include <gtest/gtest.h>

namespace mmtune {
namespace {

using namespace std::chrono_literals;
using Clock = Deadlines::Clock;

TEST(Deadlines, ShareWhatIsLeft) {
  const Clock::time_point begin{};
  const Deadlines deadlines(begin + 100s);
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
    now = deadline + 300ms;  // for a race
    deadlines.ended(deadline, now);
  }
  EXPECT_LE(now, end + 300ms);
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
