// What charts as text and as SVG share: scales, names and whether there is anything to draw.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "tuner/text/chart.h"

namespace mmtune {

/// The scale from values to places between 0 and 1.
struct Axis {
  double low = 0;
  double high = 1;
  bool is_log = false;

  double place(double value) const {
    const auto scaled = [&](double x) { return is_log ? std::log(x) : x; };
    return high > low ? (scaled(value) - scaled(low)) / (scaled(high) - scaled(low)) : 0.5;
  }
};

struct Axes {
  Axis x, y;
};

/// The scales that show all points. Linear values start at 0.
Axes axes_of(const Chart& chart);

bool has_points(const Chart& chart);

/// The letter that stands for a series: "*" for the only one.
char letter_of(std::size_t series, std::size_t count);

/// A number short enough for an axis: "0.02", "64", "232448".
std::string axis_label(double value);

}  // namespace mmtune
