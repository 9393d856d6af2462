// Reading JSON of other programs.
#include "tuner/text/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <cmath>

namespace mmtune {
namespace {

using ::testing::HasSubstr;

TEST(JsonReader, ReadsEveryKindOfValue) {
  const Json root =
      Json::parse(R"( {"a": [1, -2.5e3, true, null, "x\n\u00e9\ud83d\ude00"], "b": {"c": false}} )", "it");
  const Json::Array& list = *root.find("a")->array();
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(*list[0].number(), 1);
  EXPECT_EQ(*list[1].number(), -2500);
  EXPECT_EQ(*list[2].flag(), true);
  EXPECT_TRUE(list[3].is_null());
  EXPECT_EQ(*list[4].text(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(*root.find("b")->find("c")->flag(), false);
  EXPECT_EQ(root.find("c"), nullptr);
  EXPECT_EQ(list[0].find("a"), nullptr) << "no object";
  EXPECT_EQ(list[0].text(), nullptr);
}

TEST(JsonReader, ReadsWhatPythonWritesForNumbersThatAreNone) {
  const Json root = Json::parse("[NaN, Infinity, -Infinity]", "it");
  EXPECT_TRUE(std::isnan(*(*root.array())[0].number()));
  EXPECT_EQ(*(*root.array())[2].number(), -INFINITY);
  EXPECT_EQ(root.written(), "[NaN,Infinity,-Infinity]");
}

TEST(JsonReader, WritesWhatItReads) {
  for (const char* text : {"null", "[]", "{}", R"({"a":[1,2.5,"x\u000ay"],"b":{"c":true}})"}) {
    EXPECT_EQ(Json::parse(text, "it").written(), text);
  }
}

TEST(JsonReader, SaysWhatIsWrongInWhichLine) {
  const std::pair<const char*, const char*> bad[] = {
      {"", "ends too early"},
      {"{\"a\": 1,\n", "ends too early in line 2"},
      {"[1 2]", "',' is missing"},
      {"{\"a\" 1}", "':' is missing"},
      {"[1]\n\n]", "more follows"},
      {"\"abc", "has no end"},
      {"[\"\\q\"]", "escape"},
      {"[\"\\u12\"]", "escape"},
      {"[abc]", "no value in line 1"},
      {"[1e999]", "out of range"},
      {"[inf]", "no value"},
      {"{1: 2}", "'\"' is missing"},
      {"[,]", "no value"},
      {"[1,]", "no value"},
  };
  for (const auto& [text, cause] : bad) {
    try {
      Json::parse(text, "file 'x'");
      ADD_FAILURE() << text << " was read";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("file 'x' is no JSON")) << text;
      EXPECT_THAT(error.what(), HasSubstr(cause)) << text;
    }
  }
  EXPECT_THROW(Json::parse(std::string(100000, '['), "it"), UsageError) << "no stack is deep enough for that";
}

}  // namespace
}  // namespace mmtune
