#include "tuner/text/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mmtune {
namespace {

Table example() {
  Table table({{"name"}, {"µs", Align::right}, {"count", Align::right}});
  table.add({"plain", Cell(1.23456, 2), 7});
  table.add({"a \"b\", c|d", Cell(kUnknown, 2), {}}, Tone::bad);
  return table;
}

TEST(Report, AlignedColumnsByWhatIsSeen) {
  EXPECT_EQ(example().text(Format::table),
            "name          µs  count\n"
            "plain       1.23      7\n"
            "a \"b\", c|d\n");
}

TEST(Report, ColorOnlyWhenAskedFor) {
  EXPECT_EQ(example().text(Format::table).find('\033'), std::string::npos);
  const auto colored = example().text(Format::table, {.color = true});
  EXPECT_NE(colored.find("\033[31ma \"b\", c|d\033[0m\n"), std::string::npos) << colored;
  EXPECT_EQ(example().text(Format::csv, {.color = true}).find('\033'), std::string::npos);
}

Table results() {
  Table table(
      {{"size", Align::right}, {"type", Align::left, Fit::shared}, {"error"}, {"config", Align::left, Fit::wraps}});
  table.add({"64", "fp32 nn", "", "BM=32 BN=32 BK=16 TM=4 TN=4 LOAD=2"});
  table.add({"128", "fp32 nn", "", "default"});
  return table;
}

TEST(Report, WhatAllRowsSayIsSaidOnceAndEmptyColumnsAreLeftOut) {
  EXPECT_EQ(results().text(Format::table, {.wide = false}),
            "fp32 nn\n"
            "size  config\n"
            "  64  BM=32 BN=32 BK=16 TM=4 TN=4 LOAD=2\n"
            " 128  default\n");
  EXPECT_EQ(results().text(Format::table, {.wide = true}),
            "size  type     error  config\n"
            "  64  fp32 nn         BM=32 BN=32 BK=16 TM=4 TN=4 LOAD=2\n"
            " 128  fp32 nn         default\n");
}

TEST(Report, TableIsAsWideAsTheTerminal) {
  EXPECT_EQ(results().text(Format::table, {.wide = false, .width = 30}),
            "fp32 nn\n"
            "size  config\n"
            "  64  BM=32 BN=32 BK=16 TM=4\n"
            "      TN=4 LOAD=2\n"
            " 128  default\n");
  for (const std::size_t width : {27, 30, 40, 200}) {
    std::istringstream text(results().text(Format::table, {.wide = false, .width = width}));
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(Report, HeadingsAreBrokenAndSpareColumnsLeaveANarrowTable) {
  Table table({{"size", Align::right},
               {"shared memory B", Align::right},
               {"config", Align::left, Fit::wraps},
               {"regs", Align::right, Fit::spare}});
  table.add({"4096", "230400", "BM=128 BN=256 BK=64", "168"});
  EXPECT_EQ(table.text(Format::table, {.wide = false, .width = 39}),
            "size  shared  config               regs\n"
            "      memory\n"
            "           B\n"
            "4096  230400  BM=128 BN=256 BK=64   168\n");
  EXPECT_EQ(table.text(Format::table, {.wide = false, .width = 33}),
            "size  shared  config\n"
            "      memory\n"
            "           B\n"
            "4096  230400  BM=128 BN=256 BK=64\n"
            "(--wide also shows regs)\n");
  EXPECT_EQ(table.text(Format::table, {.wide = false, .width = 24}),
            "size  shared  config\n"
            "      memory\n"
            "           B\n"
            "4096  230400  BM=128\n"
            "              BN=256\n"
            "              BK=64\n"
            "(--wide also shows regs)\n");
}

TEST(Report, WhatWrapsStandsBelowTheRowsOfATableThatIsTooWide) {
  Table table({{"size", Align::right}, {"config", Align::left, Fit::wraps}, {"regs", Align::right, Fit::spare}});
  table.add({"4096x4096x4096", "BM=128 BN=256 BK=64", "168"});
  EXPECT_EQ(table.text(Format::table, {.wide = false, .width = 20}),
            "          size  regs\n"
            "4096x4096x4096   168\n"
            "    config: BM=128\n"
            "    BN=256 BK=64\n");
}

TEST(Report, LineBreaksOfAColumnThatWrapsAreLineBreaks) {
  Table table({{"outcome"}, {"note", Align::left, Fit::wraps}});
  table.add({"compile_failed", "a.cu(3): error\n    int x\n1 error\x1b"});
  EXPECT_EQ(table.text(Format::table),
            "outcome         note\n"
            "compile_failed  a.cu(3): error\n"
            "                    int x\n"
            "                1 error\\x1b\n");
}

TEST(Report, TableWithoutRowsHasItsHeading) {
  EXPECT_EQ(Table({{"size"}, {"type", Align::left, Fit::shared}}).text(Format::table, {.wide = false, .width = 5}),
            "size  type\n");
}

TEST(Report, CsvQuotesByRfc4180) {
  EXPECT_EQ(example().text(Format::csv), "name,µs,count\nplain,1.23,7\n\"a \"\"b\"\", c|d\",,\n");
  Table lines({{"text"}});
  lines.add({"one\ntwo"});
  EXPECT_EQ(lines.text(Format::csv), "text\n\"one\ntwo\"\n");
}

TEST(Report, JsonIsAnArrayOfObjectsInColumnOrder) {
  const auto parsed = nlohmann::ordered_json::parse(example().text(Format::json));
  EXPECT_EQ(parsed.dump(), R"([{"name":"plain","µs":1.23,"count":7},{"name":"a \"b\", c|d","µs":null,"count":null}])");
  EXPECT_EQ(Table({{"a"}}).text(Format::json), "[]\n");
}

TEST(Report, JsonSurvivesInvalidUtf8) {
  Table table({{"text"}});
  table.add({"bad \xff byte"});
  EXPECT_TRUE(nlohmann::json::accept(table.text(Format::json)));
}

TEST(Report, MarkdownEscapesBars) {
  EXPECT_EQ(example().text(Format::md),
            "| name | µs | count |\n"
            "| --- | ---: | ---: |\n"
            "| plain | 1.23 | 7 |\n"
            "| a \"b\", c\\|d |  |  |\n");
}

TEST(Report, ControlCharactersArePrintedEscaped) {
  Table table({{"text"}});
  table.add({"x\033[2Jy\u009b1m\u202ez"});
  EXPECT_EQ(table.text(Format::table), "text\nx\\x1b[2Jy\\u009b1m\\u202ez\n");
  EXPECT_EQ(table.text(Format::csv), table.text(Format::table));
  EXPECT_EQ(table.text(Format::md), "| text |\n| --- |\n| x\\x1b[2Jy\\u009b1m\\u202ez |\n");
}

TEST(Report, JsonEscapesControlCharactersAndMeansThem) {
  const std::string name = "x\033[2Jy\u009b1m\u202ez \"µ\" \\ \n\t end";
  Table table({{"text"}});
  table.add({name});
  const auto text = table.text(Format::json);
  EXPECT_EQ(nlohmann::json::parse(text).at(0).at("text"), name);
  for (const auto* hidden : {"\033", "\u009b", "\u202e"}) EXPECT_EQ(text.find(hidden), std::string::npos) << text;
}

TEST(Report, JsonNumbersAreThoseOfTheCsv) {
  Table table({{"a"}, {"b"}});
  table.add({std::int64_t{-9223372036854775807}, Cell(1234.5678, 2)});
  const auto row = nlohmann::json::parse(table.text(Format::json)).at(0);
  EXPECT_EQ(row.at("a"), -9223372036854775807);
  EXPECT_EQ(row.at("b"), 1234.57);
}

}  // namespace
}  // namespace mmtune
