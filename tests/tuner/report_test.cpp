#include "tuner/text/report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace mmtune {
namespace {

Table example() {
  Table table({{"name"}, {"µs", Align::right}, {"count", Align::right}});
  table.add({"plain", Real{1.23456, 2}, std::int64_t{7}});
  table.add({"a \"b\", c|d", Real{std::numeric_limits<double>::quiet_NaN(), 2}, std::monostate{}}, Tone::bad);
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
  const auto colored = example().text(Format::table, true);
  EXPECT_NE(colored.find("\033[31ma \"b\", c|d\033[0m\n"), std::string::npos) << colored;
  EXPECT_EQ(example().text(Format::csv, true).find('\033'), std::string::npos);
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

TEST(Report, ControlCharactersNeverReachATerminal) {
  Table table({{"text"}});
  table.add({"x\033[2Jy"});
  EXPECT_EQ(table.text(Format::table), "text\nx [2Jy\n");
}

TEST(Report, ProgressLine) {
  EXPECT_EQ(progress_line(3, 6, 42, "simt", 80), "[##########..........]  50%  3/6  ETA 0:42  simt");
  EXPECT_EQ(progress_line(0, 6, 42, "", 80), "[....................]   0%  0/6  ETA ?  ");
  EXPECT_EQ(progress_line(1, 101, 100, "", 80).substr(22), "   1%  1/101  ETA 2:46:40  ");
  EXPECT_EQ(progress_line(3, 6, 42, "simt", 10).size(), 10U);
}

}  // namespace
}  // namespace mmtune
