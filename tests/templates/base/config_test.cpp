#include "templates/base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <random>

namespace mmtune {
namespace {

using ::testing::HasSubstr;

std::string parse_error(std::string_view text) {
  try {
    Config::parse(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Config, TextReadsBack) {
  const Config config({{"BM", 128}, {"BN", 64}, {"SHIFT", -1}});
  EXPECT_EQ(config.text(), "BM=128 BN=64 SHIFT=-1");
  EXPECT_EQ(Config::parse(config.text()), config);
  EXPECT_EQ(Config::parse("  BM=128   BN=64\tSHIFT=-1 "), config);
}

TEST(Config, EmptyTextIsTheEmptyConfiguration) {
  EXPECT_EQ(Config::parse(""), Config());
  EXPECT_EQ(Config::parse("  "), Config());
  EXPECT_EQ(Config().text(), "");
}

TEST(Config, ErrorsNameTheOffendingToken) {
  EXPECT_THAT(parse_error("BM=128 BN"), HasSubstr("'BN'"));
  EXPECT_THAT(parse_error("=3"), HasSubstr("'=3'"));
  EXPECT_THAT(parse_error("BM=12x"), HasSubstr("'12x'"));
  EXPECT_THAT(parse_error("BM="), HasSubstr("'BM='"));
  EXPECT_THAT(parse_error("BM=99999999999"), HasSubstr("'99999999999'"));
  EXPECT_THAT(parse_error("BM=1 BN=2 BM=1"), HasSubstr("'BM' is given twice"));
  EXPECT_THAT(parse_error("#include\"x\"=1"), HasSubstr("is not NAME=VALUE"));
  EXPECT_THAT(parse_error("\033[31mBM=1"), HasSubstr("is not NAME=VALUE"));
}

TEST(Config, FindsByNameWhereverItStands) {
  const Config config({{"BM", 1}, {"BN", 2}});
  EXPECT_EQ(*config.find("BN"), 2);
  EXPECT_EQ(*config.find("BN", 1), 2);
  EXPECT_EQ(*config.find("BN", 0), 2);
  EXPECT_EQ(*config.find("BM", 7), 1);
  EXPECT_EQ(config.find("BK"), nullptr);
  EXPECT_EQ(config.find("BK", 0), nullptr);
}

/// Whether some configuration says this of itself, by making it.
bool says_itself(const std::string& text) {
  try {
    return Config::parse(text).text() == text;
  } catch (const UsageError&) {
    return false;
  }
}

TEST(Config, KnowsItsTextWithoutMakingOne) {
  std::mt19937 random(1);
  constexpr std::string_view kPieces = "AB_ =-+07\t";
  int texts = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 2 == 0 ? "BM=128 BN=-64 A_0=0" : "";
    for (auto edits = random() % 5; edits > 0; --edits) {
      const char piece = kPieces[random() % kPieces.size()];
      text.insert(text.begin() + static_cast<std::ptrdiff_t>(random() % (text.size() + 1)), piece);
    }
    EXPECT_EQ(Config::is_text(text), says_itself(text)) << "'" << text << "'";
    texts += Config::is_text(text) ? 1 : 0;
  }
  EXPECT_GT(texts, 1000);
  EXPECT_LT(texts, 19'000);
  for (const char* text : {"A=1 A=2", "A=1 B=2 A=1", "A=99999999999", "A=01", "A=-0", "=1", "A", "A= 1"}) {
    EXPECT_FALSE(Config::is_text(text)) << text;
  }
}

}  // namespace
}  // namespace mmtune
