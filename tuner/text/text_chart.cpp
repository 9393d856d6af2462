// Charts for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tuner/text/chart_axes.h"

namespace mmtune {
namespace {

/// The value of a series at x; NaN outside of it.
double value_at(const Series& series, double x, const Chart& chart) {
  const auto& points = series.points;
  if (points.empty() || x < points.front().first || x > points.back().first) return NAN;
  const auto after = std::upper_bound(points.begin(), points.end(), x,
                                      [](double value, const auto& point) { return value < point.first; });
  const auto before = std::prev(after);
  if (chart.stepped || after == points.end()) return before->second;
  const Axis x_axis{before->first, after->first, chart.log_x};
  const Axis y_axis{before->second, after->second, chart.log_y};
  const double t = x_axis.place(x);
  return chart.log_y ? std::exp(std::log(y_axis.low) * (1 - t) + std::log(y_axis.high) * t)
                     : y_axis.low * (1 - t) + y_axis.high * t;
}

double inverse(const Axis& axis, double place) {
  return axis.is_log ? axis.low * std::pow(axis.high / axis.low, place) : axis.low + (axis.high - axis.low) * place;
}

constexpr char kSeveral = '#';

}  // namespace

std::string text_chart(const Chart& chart, int width, int height) {
  if (!has_points(chart)) return "";
  constexpr int kMargin = 9;
  const Axes axes = axes_of(chart);
  const int columns = std::max(10, width - kMargin);
  std::vector<std::string> grid(static_cast<std::size_t>(height), std::string(static_cast<std::size_t>(columns), ' '));
  for (int column = 0; column < columns; ++column) {
    const double x = inverse(axes.x, static_cast<double>(column) / (columns - 1));
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      const double value = value_at(chart.series[i], x, chart);
      if (std::isnan(value)) continue;
      const auto row = static_cast<std::size_t>(std::lround((1 - axes.y.place(value)) * (height - 1)));
      char& place = grid[row][static_cast<std::size_t>(column)];
      place = place == ' ' ? letter_of(i, chart.series.size()) : kSeveral;
    }
  }
  std::string text = fmt::format("{} ({})\n", chart.title, chart.y_label);
  for (int row = 0; row < height; ++row) {
    const bool is_labelled = row == 0 || row == height - 1 || row == height / 2;
    const double value = inverse(axes.y, 1 - static_cast<double>(row) / (height - 1));
    text += fmt::format("{:>{}} |{}\n", is_labelled ? axis_label(value) : "", kMargin - 2,
                        grid[static_cast<std::size_t>(row)]);
  }
  const std::string low = axis_label(axes.x.low), high = axis_label(axes.x.high);
  text += fmt::format("{:{}}{}{:^{}}{}\n", "", kMargin, low, chart.x_label,
                      std::max(0, columns - static_cast<int>(low.size() + high.size())), high);
  if (chart.mark_x) {
    const auto place = static_cast<int>(std::lround(axes.x.place(*chart.mark_x) * (columns - 1)));
    text += fmt::format("{:{}}^ {}\n", "", kMargin + std::clamp(place, 0, columns - 1), axis_label(*chart.mark_x));
  }
  if (chart.series.size() == 1) return text;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    text += fmt::format("{:{}}{} {}\n", "", kMargin, letter_of(i, chart.series.size()), chart.series[i].name);
  }
  return text;
}
}  // namespace mmtune
