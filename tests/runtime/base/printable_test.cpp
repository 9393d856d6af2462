#include "runtime/base/printable.h"

#include <gtest/gtest.h>

namespace mmtune {
namespace {

TEST(Printable, OrdinaryTextStays) {
  for (const auto* text : {"", "NVIDIA H200", "µs, TFLOP/s → 1.5 %", "\\x1b", "日本語 😀"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(printable("a\033[2J\n\t\177"), "a\\x1b[2J\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("\u009b31m"), "\\u009b31m");
  EXPECT_EQ(printable_lines("a\nb\tc\r"), "a\nb\tc\\x0d");
}

TEST(Printable, CharactersThatChangeTheDirectionAreWrittenOut) {
  EXPECT_EQ(printable("\u202etxt.exe"), "\\u202etxt.exe");
  EXPECT_EQ(printable("\u2066\u2069\u200f\u061c\u2028\ufeff"), "\\u2066\\u2069\\u200f\\u061c\\u2028\\ufeff");
}

TEST(Printable, BytesThatAreNoUtf8AreWrittenOut) {
  EXPECT_EQ(printable("\xff\x9b"), "\\xff\\x9b");
  EXPECT_EQ(printable("\xc2"), "\\xc2");                             // cut off
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");                    // This is not the shortest form.
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // This is beyond U+10FFFF.
}

TEST(Printable, FirstCharacter) {
  EXPECT_EQ(first_character("é!").value, U'é');
  EXPECT_EQ(first_character("é!").bytes, 2U);
  EXPECT_EQ(first_character("😀").value, U'😀');
  EXPECT_FALSE(first_character("\x80").valid);
}

}  // namespace
}  // namespace mmtune
