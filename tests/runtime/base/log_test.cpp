#include "runtime/base/log.h"

#include <gtest/gtest.h>

namespace mmtune {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override { log::set_level(before_); }
  log::Level before_ = log::level();
};

TEST_F(Log, WritesWhatTheLevelAdmits) {
  log::set_level(log::Level::warning);
  testing::internal::CaptureStderr();
  log::warning("{} is odd", 3);
  log::info("not this");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mmtune: 3 is odd\n");
}

TEST_F(Log, ControlCharactersDoNotReachTheTerminal) {
  log::set_level(log::Level::warning);
  testing::internal::CaptureStderr();
  log::warning("a\033[31mb\nc\td\177");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mmtune: a\\x1b[31mb\nc\td\\x7f\n");
}

TEST_F(Log, SilentWritesNothing) {
  log::set_level(log::Level::silent);
  testing::internal::CaptureStderr();
  log::error("no");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Log, LevelsHaveNames) {
  EXPECT_EQ(log::parse_level("silent"), log::Level::silent);
  EXPECT_EQ(log::parse_level("debug"), log::Level::debug);
  EXPECT_EQ(log::parse_level("loud"), std::nullopt);
}

}  // namespace
}  // namespace mmtune
