#include "tuner/text/progress.h"

#include <gtest/gtest.h>

#include "runtime/base/log.h"

namespace mmtune {
namespace {

TEST(Progress, Line) {
  EXPECT_EQ(progress_line(ProgressState::of(3, 6), 42, "simt", 80), "[##########..........]  50%  3/6  ETA 0:42  simt");
  EXPECT_EQ(progress_line(ProgressState::of(0, 6), 42, "", 80), "[....................]   0%  0/6  ETA ?  ");
  EXPECT_EQ(progress_line(ProgressState::of(1, 101), 100, "", 80).substr(22), "   1%  1/101  ETA 2:46:40  ");
  EXPECT_EQ(progress_line(ProgressState::of(3, 6), 42, "simt", 10).size(), 10U);
}

TEST(Progress, NothingIsPromisedWhereTheShareIsAGuess) {
  EXPECT_EQ(progress_line({1, 4, 0.5, false}, 42, "", 80), "[##########..........]  50%  1/4  ETA ?  ");
}

TEST(Progress, NoteCannotSteerATerminal) {
  const auto line = progress_line(ProgressState::of(1, 2), 1, "a\u202eb\033c", 100);
  EXPECT_TRUE(line.ends_with("a\\u202eb\\x1bc")) << line;
}

/// What a run of two steps prints at this level.
std::string printed_at(log::Level level) {
  const auto before = log::level();
  log::set_level(level);
  testing::internal::CaptureStderr();
  {
    Progress progress;
    progress.update(ProgressState::of(1, 2), "first");
  }
  log::set_level(before);
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, IsShownWhereWarningsAre) {
  EXPECT_NE(printed_at(log::Level::warning).find("1/2"), std::string::npos);
  EXPECT_EQ(printed_at(log::Level::error), "");
}

}  // namespace
}  // namespace mmtune
