#include "tuner/text/sizes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <filesystem>
#include <fstream>

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> squares(std::string_view text) {
  std::vector<std::int64_t> extents;
  for (const auto& size : parse_sizes(text)) {
    EXPECT_TRUE(size.m == size.n && size.n == size.k) << to_string(size);
    extents.push_back(size.m);
  }
  return extents;
}

std::string complaint(std::string_view text) {
  try {
    parse_sizes(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  ADD_FAILURE() << "'" << text << "' was accepted";
  return "";
}

std::string file_with(const std::string& name, const std::string& content) {
  const auto path = std::filesystem::path(::testing::TempDir()) / name;
  std::ofstream(path) << content;
  return fmt::format("@{}", path.string());
}

TEST(Sizes, SingleNumberIsSquare) { EXPECT_THAT(parse_sizes("1024"), ElementsAre(Size{1024, 1024, 1024})); }

TEST(Sizes, RangeDoublesAndIncludesBothEnds) {
  EXPECT_THAT(squares("256..8192"), ElementsAre(256, 512, 1024, 2048, 4096, 8192));
  EXPECT_THAT(squares("1..1"), ElementsAre(1));
  EXPECT_THAT(squares("256..5000"), ElementsAre(256, 512, 1024, 2048, 4096));
}

TEST(Sizes, RangeWithStep) {
  EXPECT_THAT(squares("1000..4000:1000"), ElementsAre(1000, 2000, 3000, 4000));
  EXPECT_THAT(squares("10..35:10"), ElementsAre(10, 20, 30));
}

TEST(Sizes, RangeWithFactor) { EXPECT_THAT(squares("100..2700*3"), ElementsAre(100, 300, 900, 2700)); }

TEST(Sizes, Rectangle) { EXPECT_THAT(parse_sizes("3x5x7"), ElementsAre(Size{3, 5, 7})); }

TEST(Sizes, MixKeepsOrderAndDropsRepetitions) {
  EXPECT_THAT(parse_sizes("512, 2x3x4,256..1024,2x3x4"),
              ElementsAre(Size{512, 512, 512}, Size{2, 3, 4}, Size{256, 256, 256}, Size{1024, 1024, 1024}));
}

TEST(Sizes, LargestExtent) {
  EXPECT_THAT(squares("2147483647"), ElementsAre(kMaxExtent));
  EXPECT_THAT(squares("1073741824..2147483647"), ElementsAre(1073741824));
}

TEST(Sizes, FileOfSizesWithHeader) {
  EXPECT_THAT(squares(file_with("list.csv", "size\n64\n\n128..256\r\n64\n")), ElementsAre(64, 128, 256));
}

TEST(Sizes, FileOfColumns) {
  EXPECT_THAT(parse_sizes(file_with("columns.csv", "1,2,3\n4x5x6\n")), ElementsAre(Size{1, 2, 3}, Size{4, 5, 6}));
}

TEST(Sizes, FileWithNamedColumnsAmongOthers) {
  const auto file = file_with("named.csv", "precision,layout,k,m,n,family\nfp32,nn,3,1,2,simt\n");
  EXPECT_THAT(parse_sizes(file + ",8"), ElementsAre(Size{1, 2, 3}, Size{8, 8, 8}));
}

TEST(Sizes, FileMayBeginWithAByteOrderMark) {
  EXPECT_THAT(parse_sizes(file_with("mark.csv", "\xef\xbb\xbfk,n,m\n3,2,1\n")), ElementsAre(Size{1, 2, 3}));
  EXPECT_THAT(squares(file_with("plain.csv",
                                "\xef\xbb\xbf"
                                "64\n")),
              ElementsAre(64));
}

TEST(Sizes, FileErrorsNameFileAndLine) {
  EXPECT_THAT(complaint("@/nowhere/sizes.csv"), HasSubstr("@/nowhere/sizes.csv"));
  EXPECT_THAT(complaint(fmt::format("@{}", ::testing::TempDir())), HasSubstr("cannot be read"));
  EXPECT_THAT(complaint(file_with("empty.csv", "m,n,k\n")), HasSubstr("holds no sizes"));
  EXPECT_THAT(complaint(file_with("two.csv", "1,2,3\n1,2\n")), HasSubstr("two.csv:2"));
  EXPECT_THAT(complaint(file_with("list.txt", "64\nabc\n")), AllOf(HasSubstr("list.txt:2"), HasSubstr("'abc'")));
  EXPECT_THAT(complaint(file_with("word.csv", "m,n,k\n1,2,z\n")), HasSubstr("'z'"));
  EXPECT_THAT(complaint(file_with("nested.csv", "@nested.csv\n")), HasSubstr("nested.csv:1"));
}

TEST(Sizes, WhateverAFileHoldsTheMessageIsOneShortLine) {
  const auto message = complaint(file_with("binary.csv", "\033[2J" + std::string(1, '\0') + std::string(100'000, 'y')));
  EXPECT_THAT(message, HasSubstr("write for example 1024"));
  EXPECT_LT(message.size(), 500U);
  EXPECT_EQ(message.find('\033'), std::string::npos);
}

struct BadSizes {
  const char* text;
  const char* token;
  const char* remedy;
};

class BadSizesTest : public ::testing::TestWithParam<BadSizes> {};

TEST_P(BadSizesTest, NamesTokenAndRemedy) {
  const auto message = complaint(GetParam().text);
  EXPECT_THAT(message, HasSubstr(GetParam().token));
  EXPECT_THAT(message, HasSubstr(GetParam().remedy));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, BadSizesTest,
    ::testing::Values(
        BadSizes{"8192..256", "'8192..256'", "write 256..8192"}, BadSizes{"0..8", "'0..8'", "extents start at 1"},
        BadSizes{"256..", "'256..'", "write both ends"}, BadSizes{"..256", "'..256'", "write both ends"},
        BadSizes{"1e9..2e9", "'1e9'", "256..8192"}, BadSizes{"64,abc", "'abc'", "write for example"},
        BadSizes{"", "empty", "single commas"}, BadSizes{"64,,128", "empty", "single commas"},
        BadSizes{"-4", "'-4'", "write for example"}, BadSizes{"2147483648", "2147483648", "go up to 2147483647"},
        BadSizes{"99999999999999999999999", "99999999999999999999999", "go up to 2147483647"},
        BadSizes{"1x2", "'1x2'", "MxNxK"}, BadSizes{"1x2x3x4", "'1x2x3x4'", "MxNxK"},
        BadSizes{"1x0x3", "'1x0x3'", "extents start at 1"}, BadSizes{"100..800", "'100..800'", "100..800*2"},
        BadSizes{"2..8*1", "'2..8*1'", "2 or more"}, BadSizes{"2..8:0", "'2..8:0'", "extents start at 1"},
        BadSizes{"2..8:", "'2..8:'", "no whole number"}, BadSizes{"1..10000000:1", "'1..10000000:1'", "larger step"},
        BadSizes{"1..60000:1,60001..120000:1", "'60001..120000:1'", "larger step"}));

TEST(Sizes, ExactlyTheLimitIsAllowed) { EXPECT_EQ(parse_sizes("1..100000:1").size(), kMaxSizes); }

TEST(Sizes, RepetitionsCountTowardsTheLimit) {
  EXPECT_THAT(complaint("1..100000:1,7"), HasSubstr("'7' makes more than 100000 sizes"));
}

}  // namespace
}  // namespace mmtune
