#include "tuner/workers/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace mmtune {
namespace {

TEST(Interrupt, IsSeenAndLeavesErrnoToWhatItInterrupts) {
  const InterruptGuard guard;
  EXPECT_FALSE(InterruptGuard::requested());
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);  // Nobody reads what the handler says.
  const int usual_stderr = dup(STDERR_FILENO);
  const auto usual_action = std::signal(SIGPIPE, SIG_IGN);
  dup2(ends[1], STDERR_FILENO);
  errno = EINTR;
  std::raise(SIGINT);
  const int left = errno;
  dup2(usual_stderr, STDERR_FILENO);
  std::signal(SIGPIPE, usual_action);
  close(usual_stderr);
  close(ends[1]);
  EXPECT_EQ(left, EINTR);
  EXPECT_TRUE(InterruptGuard::requested());
}

TEST(Interrupt, IsRememberedUntilTheOutermostGuardEnds) {
  const auto usual_action = std::signal(SIGINT, SIG_IGN);
  {
    const InterruptGuard outermost;
    { const InterruptGuard first; }
    std::raise(SIGINT);
    { const InterruptGuard second; }
    EXPECT_TRUE(InterruptGuard::requested());
  }
  EXPECT_FALSE(InterruptGuard::requested());
  EXPECT_EQ(std::signal(SIGINT, usual_action), SIG_IGN);
}

}  // namespace
}  // namespace mmtune
