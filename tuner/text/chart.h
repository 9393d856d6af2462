// Line charts as text for a terminal and as SVG for a document.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mmtune {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< the points, x ascending
  bool is_reference = false;  ///< whether the series before is compared with it: in its colour, dashed, in an SVG only
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  std::optional<double> mark_x;  ///< the place of a vertical line, which marks the thing in question
  bool stepped = false;          ///< whether a value holds up to the next point; else points are joined
  bool log_x = false;            ///< Every x is above 0 then, and likewise every y.
  bool log_y = false;
  /// Names of x = 0, 1, …, whose points are not joined; empty: x is a number. In an SVG only.
  std::vector<std::string> categories = {};
};

/// Lines of at most `width` columns, `height` of them for the values; series are told apart by a letter each, which the
/// lines below the chart explain; "#" is where several meet. Empty without points.
std::string text_chart(const Chart& chart, int width, int height);

/// A document with the charts one below the other, in light or dark as the reader's system has it; series differ by
/// colour and by symbols or dashes, and each has its name beside its end, or a letter that the lines
/// below the chart explain.
std::string svg_of(const std::vector<Chart>& charts);

}  // namespace mmtune
