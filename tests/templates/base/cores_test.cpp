#include "templates/base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace mmtune {
namespace {

TEST(Cores, OnlyThoseThatTheProcessMayUseCount) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(usable_cores(), CPU_COUNT(&before));
}

TEST(Cores, AContainerMayAllowAPartOfACore) {
  EXPECT_EQ(cores_of_quota("400000 100000"), 4);
  EXPECT_EQ(cores_of_quota("250000 100000"), 3);
  EXPECT_EQ(cores_of_quota("10000 100000"), 1);
  for (const char* text : {"max 100000", "", "100000", "0 100000", "-1 100000", "100000 0", "1e300 1"}) {
    EXPECT_EQ(cores_of_quota(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace mmtune
