#include "tuner/text/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mmtune {
namespace {

/// From values to places between 0 and 1.
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

/// Linear values start at 0.
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

char letter_of(std::size_t series, std::size_t count) {
  return count == 1 ? '*' : static_cast<char>('a' + static_cast<int>(series % 26));
}

/// Short enough for an axis: "0.02", "64", "232448".
std::string label(double value) { return fmt::format("{:.{}g}", value, value < 1000 ? 3 : 6); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else {
      result += c;
    }
  }
  return result;
}

// The SVG's page, in pixels.
constexpr double kWidth = 720, kHeight = 320, kLeftMargin = 70, kRightMargin = 150, kTop = 40, kBottom = 50;
constexpr double kPlotWidth = kWidth - kLeftMargin - kRightMargin, kPlotHeight = kHeight - kTop - kBottom;

// Okabe and Ito's colours, which people with any colour vision tell apart, and dashes for those who see none.
constexpr std::array kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr std::array kDashes{"", "6 3", "2 2", "8 3 2 3", "1 3", "12 4"};

struct Page {
  double top;  ///< of the chart
  Axes axes;

  double x(double value) const { return kLeftMargin + kPlotWidth * axes.x.place(value); }
  double y(double value) const { return top + kTop + kPlotHeight * (1 - axes.y.place(value)); }
};

std::string svg_frame(const Chart& chart, const Page& page) {
  constexpr int kTicks = 5;
  const double bottom = page.top + kTop + kPlotHeight;
  std::string svg = fmt::format(
      "<text x=\"{}\" y=\"{}\" class=\"title\">{}</text>\n"
      "<path d=\"M{} {}V{}H{}\" class=\"axis\"/>\n"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      kLeftMargin, page.top + 22, escaped(chart.title), kLeftMargin, page.top + kTop, bottom, kLeftMargin + kPlotWidth,
      kLeftMargin + kPlotWidth / 2, bottom + 38, escaped(chart.x_label), page.top + kTop + kPlotHeight / 2,
      escaped(chart.y_label));
  for (int i = 0; i <= kTicks; ++i) {
    const double x = inverse(page.axes.x, static_cast<double>(i) / kTicks);
    const double y = inverse(page.axes.y, static_cast<double>(i) / kTicks);
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", page.x(x), bottom + 18, label(x));
    svg += fmt::format(
        "<path d=\"M{} {:.1f}H{}\" class=\"grid\"/><text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeftMargin, page.y(y), kLeftMargin + kPlotWidth, kLeftMargin - 6, page.y(y) + 4, label(y));
  }
  return svg;
}

std::string svg_series(const Series& series, std::size_t number, const Chart& chart, const Page& page) {
  if (series.points.empty()) return "";
  std::string path;
  for (const auto& [x, y] : series.points) {
    if (path.empty()) {
      path = fmt::format("M{:.1f} {:.1f}", page.x(x), page.y(y));
    } else if (chart.stepped) {
      path += fmt::format("H{:.1f}V{:.1f}", page.x(x), page.y(y));
    } else {
      path += fmt::format("L{:.1f} {:.1f}", page.x(x), page.y(y));
    }
  }
  const auto& [x, y] = series.points.back();
  const char* colour = kColours[number % kColours.size()];
  return fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>\n",
      path, colour, kDashes[number % kDashes.size()], page.x(x) + 6, page.y(y) + 4, colour, escaped(series.name));
}

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
    text +=
        fmt::format("{:>{}} |{}\n", is_labelled ? label(value) : "", kMargin - 2, grid[static_cast<std::size_t>(row)]);
  }
  const std::string low = label(axes.x.low), high = label(axes.x.high);
  text += fmt::format("{:{}}{}{:^{}}{}\n", "", kMargin, low, chart.x_label,
                      std::max(0, columns - static_cast<int>(low.size() + high.size())), high);
  if (chart.mark_x) {
    const auto place = static_cast<int>(std::lround(axes.x.place(*chart.mark_x) * (columns - 1)));
    text += fmt::format("{:{}}^ {}\n", "", kMargin + std::clamp(place, 0, columns - 1), label(*chart.mark_x));
  }
  if (chart.series.size() == 1) return text;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    text += fmt::format("{:{}}{} {}\n", "", kMargin, letter_of(i, chart.series.size()), chart.series[i].name);
  }
  return text;
}

std::string svg_of(const std::vector<Chart>& charts) {
  std::string body;
  double top = 0;
  for (const Chart& chart : charts) {
    if (!has_points(chart)) continue;
    const Page page{top, axes_of(chart)};
    body += svg_frame(chart, page);
    for (std::size_t i = 0; i < chart.series.size(); ++i) body += svg_series(chart.series[i], i, chart, page);
    if (chart.mark_x) {
      body += fmt::format("<path d=\"M{:.1f} {}V{}\" class=\"mark\"/>\n", page.x(*chart.mark_x), top + kTop,
                          top + kTop + kPlotHeight);
    }
    top += kHeight;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.title{{font-size:15px;font-weight:bold}} .axis{{fill:none;stroke:#666}} "
      ".grid{{stroke:#999;stroke-opacity:.3}} .mark{{stroke:#666;stroke-dasharray:3 3}} text{{fill:#222}} "
      "@media (prefers-color-scheme: dark){{text{{fill:#ddd}} svg{{background:#111}}}}</style>\n{}</svg>\n",
      kWidth, std::max(top, 1.0), body);
}

}  // namespace mmtune
