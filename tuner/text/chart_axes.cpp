#include "tuner/text/chart_axes.h"

#include <fmt/format.h>

#include <algorithm>

namespace mmtune {

Axes axes_of(const Chart& chart) {
  double low_x = INFINITY, high_x = -INFINITY, low_y = INFINITY, high_y = -INFINITY;
  for (const Series& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      low_x = std::min(low_x, x);
      high_x = std::max(high_x, x);
      low_y = std::min(low_y, y);
      high_y = std::max(high_y, y);
    }
  }
  return {{low_x, high_x, chart.log_x}, {chart.log_y ? low_y : std::min(0.0, low_y), high_y, chart.log_y}};
}

bool has_points(const Chart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [](const Series& series) { return !series.points.empty(); });
}

char letter_of(std::size_t series, std::size_t count) {
  return count == 1 ? '*' : static_cast<char>('a' + static_cast<int>(series % 26));
}

std::string axis_label(double value) { return fmt::format("{:.{}g}", value, value < 1000 ? 3 : 6); }

}  // namespace mmtune
