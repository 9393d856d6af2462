#include "tuner/text/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Chart steps() {
  return {.title = "Warps & blocks",
          .x_label = "x",
          .y_label = "warps",
          .series = {{"one", {{0, 64}, {50, 32}, {100, 16}}}},
          .mark_x = 50,
          .stepped = true};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TextChart, AStepHoldsUpToTheNextPoint) {
  const auto lines = lines_of(text_chart(steps(), 9 + 11, 5));  // a column for every 10
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[1], "     64 |*****      ");
  EXPECT_EQ(lines[3], "     32 |     ***** ");
  EXPECT_EQ(lines[4], "        |          *");
  EXPECT_EQ(lines[7], "              ^ 50");
}

TEST(TextChart, LinesAreJoinedAndSeriesNamed) {
  Chart chart = steps();
  chart.stepped = false;
  chart.series = {{"up", {{0, 0}, {100, 10}}}, {"down", {{0, 10}, {100, 0}}}};
  const auto text = text_chart(chart, 9 + 11, 11);
  const auto lines = lines_of(text);
  EXPECT_EQ(lines[1], "     10 |b         a");
  EXPECT_EQ(lines[6], "      5 |     #     ");
  EXPECT_THAT(text, AllOf(HasSubstr("a up"), HasSubstr("b down")));
}

TEST(TextChart, NothingWithoutPoints) { EXPECT_EQ(text_chart({}, 80, 10), ""); }

TEST(TextChart, OnePointIsDrawn) {
  Chart chart = steps();
  chart.series = {{"one", {{3, 7}}}};
  EXPECT_THAT(text_chart(chart, 40, 5), HasSubstr("*"));
  EXPECT_THAT(svg_of({chart}), HasSubstr("one"));
}

TEST(SvgChart, HasEverySeriesAndEscapesText) {
  Chart chart = steps();
  chart.series.push_back({"a < b", {{1, 1}, {2, 2}}});
  const auto svg = svg_of({chart, chart});
  EXPECT_THAT(svg, AllOf(HasSubstr("Warps &amp; blocks"), HasSubstr("a &lt; b"), HasSubstr("<svg "),
                         HasSubstr("viewBox=\"0 0 770 640\""), HasSubstr("</svg>")));
  EXPECT_EQ(svg.find("nan"), svg.npos);
}

TEST(SvgChart, LogarithmicAxesHaveNoZero) {
  Chart chart = steps();
  chart.stepped = false;
  chart.log_x = chart.log_y = true;
  chart.series = {{"one", {{1, 10}, {10, 100}, {100, 1000}}}};
  const auto svg = svg_of({chart});
  EXPECT_THAT(svg, HasSubstr("M70.0 270.0L320.0 155.0L570.0 40.0")) << "equal ratios are equal distances";
}

/// What stands between these two, each time.
std::vector<std::string> all_between(const std::string& text, const std::string& before, const std::string& after) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(before); at != text.npos; at = text.find(before, at)) {
    at += before.size();
    found.push_back(text.substr(at, text.find(after, at) - at));
  }
  return found;
}

TEST(SvgChart, AxesHaveRoundNumbersAndLogarithmicOnesThePoints) {
  Chart chart = steps();
  EXPECT_THAT(all_between(svg_of({chart}), "text-anchor=\"middle\">", "<"),
              ElementsAre("x", "warps", "0", "20", "40", "60", "80", "100"));
  chart.stepped = false;
  chart.log_x = chart.log_y = true;
  chart.series = {{"one", {{1000, 7}, {2000, 70}, {10000, 5500}}}};
  const auto svg = svg_of({chart});
  EXPECT_THAT(all_between(svg, "text-anchor=\"middle\">", "<"), ElementsAre("x", "warps", "1000", "2000", "10000"));
  EXPECT_THAT(all_between(svg, "text-anchor=\"end\">", "<"),
              ElementsAre("10", "20", "50", "100", "200", "500", "1000", "2000", "5000"));
}

TEST(SvgChart, NamesOfSeriesThatEndTogetherDoNotOverlap) {
  Chart chart = steps();
  chart.series = {{"low", {{0, 0}, {1, 50}}}, {"high", {{0, 0}, {1, 51}}}, {"lowest", {{0, 0}, {1, 0}}}};
  const auto svg = svg_of({chart});
  const auto places = all_between(svg, "<text x=\"592\" y=\"", "\"");
  ASSERT_EQ(places.size(), 3u);
  EXPECT_GE(std::stod(places[1]) - std::stod(places[0]), 12);
  EXPECT_LT(svg.find(">high<"), svg.find(">low<")) << "from top to bottom";
}

TEST(SvgChart, LongNamesStandBelow) {
  Chart chart = steps();
  chart.series.push_back(chart.series[0]);
  chart.series[1].name = std::string(40, 'x');
  const auto svg = svg_of({chart});
  EXPECT_THAT(svg, AllOf(HasSubstr(">a</text>"), HasSubstr(">b: xxxx"), HasSubstr("viewBox=\"0 0 770 352\"")));
}

TEST(SvgChart, AReferenceHasTheColourOfItsSeries) {
  Chart chart = steps();
  chart.stepped = false;
  chart.series = {{"a", {{0, 1}, {1, 2}}}, {"a, published", {{0, 2}, {1, 3}}, true}, {"b", {{0, 3}, {1, 4}}}};
  const auto colours = all_between(svg_of({chart}), "fill=\"none\" stroke=\"", "\"");
  ASSERT_EQ(colours.size(), 3u);
  EXPECT_EQ(colours[0], colours[1]);
  EXPECT_NE(colours[0], colours[2]);
}

TEST(SvgChart, CategoriesAreNamedAndNotJoined) {
  Chart chart = steps();
  chart.stepped = false;
  chart.categories = {"naive", "tiled"};
  chart.mark_x = {};
  chart.series = {{"ms", {{0, 10}, {1, 5}}}};
  const auto svg = svg_of({chart});
  EXPECT_THAT(svg, AllOf(HasSubstr("x=\"195.0\" y=\"288\" text-anchor=\"middle\">naive<"), HasSubstr(">tiled<")));
  EXPECT_EQ(svg.find("fill=\"none\""), svg.npos);
}

}  // namespace
}  // namespace mmtune
