#include "tuner/text/text.h"

#include <gtest/gtest.h>

namespace mmtune {
namespace {

TEST(Text, Wrapped) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("", 5), Lines{""});
  EXPECT_EQ(wrapped("one two", 7), Lines{"one two"});
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("one two", 5), (Lines{"one", "two"}));
  EXPECT_EQ(wrapped("/a/long/path", 5), (Lines{"/a/lo", "ng/pa", "th"}));
  EXPECT_EQ(wrapped("µµµµ", 2), (Lines{"µµ", "µµ"}));
  EXPECT_EQ(wrapped("text", 0), Lines{"text"});
}

TEST(Text, ReplacedInOneGo) {
  EXPECT_EQ(replaced("", {{'a', "b"}}), "");
  EXPECT_EQ(replaced("a-b-", {{'a', "bb"}, {'b', "-"}}), "bb---");
}

TEST(Text, Counted) {
  EXPECT_EQ(counted(0, "size"), "0 sizes");
  EXPECT_EQ(counted(1, "size"), "1 size");
  EXPECT_EQ(counted(2, "size"), "2 sizes");
}

}  // namespace
}  // namespace mmtune
