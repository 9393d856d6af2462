// Charts for a document.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tuner/text/chart_axes.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

std::string escaped(const std::string& text) { return replaced(text, {{'&', "&amp;"}, {'<', "&lt;"}}); }

// The SVG's page, in pixels.
constexpr double kWidth = 770, kHeight = 320, kLeftMargin = 70, kRightMargin = 200, kTop = 40, kBottom = 50;
constexpr double kPlotWidth = kWidth - kLeftMargin - kRightMargin, kPlotHeight = kHeight - kTop - kBottom;
constexpr double kPlotRight = kLeftMargin + kPlotWidth;

// Okabe and Ito's colours, which people with any colour vision tell apart, and two more; and symbols, or dashes where a
// series has too many points for symbols, for those who see none.
constexpr std::array kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#808080", "#a0522d"};
constexpr std::array kDashes{"", "6 3", "2 2", "8 3 2 3", "1 3", "12 4"};
constexpr std::array kSymbols{"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "M-3.5 -3.5h7v7h-7z", "M0 -4.5L4.5 4H-4.5z",
                              "M0 -5L5 0L0 5L-5 0z"};
constexpr std::size_t kMostSymbols = 16;  // the most symbols of a series

struct Page {
  double top;  ///< the top of the chart
  Axes axes;

  double x(double value) const { return kLeftMargin + kPlotWidth * axes.x.place(value); }
  double y(double value) const { return top + kTop + kPlotHeight * (1 - axes.y.place(value)); }
  double bottom() const { return top + kTop + kPlotHeight; }
};

Page page_of(const Chart& chart, double top) {
  Axes axes = axes_of(chart);
  if (!chart.categories.empty()) axes.x = {-0.5, static_cast<double>(chart.categories.size()) - 0.5, false};
  return {top, axes};
}

/// 1, 2 or 5 times a power of ten: at most `most` steps of it are as long as the axis.
std::vector<double> round_numbers(const Axis& axis, int most) {
  std::vector<double> numbers;
  if (!(axis.high > axis.low)) return {axis.low};
  double step = std::pow(10, std::floor(std::log10((axis.high - axis.low) / most)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if ((axis.high - axis.low) / step > most) step *= factor;
  }
  constexpr double kTolerance = 1e-3;  // the tolerance as a part of a step
  const long first = std::lround(std::ceil(axis.low / step - kTolerance));
  const long last = std::lround(std::floor(axis.high / step + kTolerance));
  for (long i = first; i <= last; ++i) numbers.push_back(static_cast<double>(i) * step);
  return numbers;
}

/// Powers of ten, or 1, 2 and 5 times them where few of these are on the axis.
std::vector<double> round_numbers_of_log(const Axis& axis) {
  constexpr double kEnough = 3;
  const double decades = std::log10(axis.high / axis.low);
  if (decades < 1) return round_numbers(axis, 5);
  std::vector<double> numbers;
  const long first = std::lround(std::floor(std::log10(axis.low)));
  const long last = std::lround(std::floor(std::log10(axis.high)));
  for (long power = first; power <= last; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double number = factor * std::pow(10, static_cast<double>(power));
      const bool is_shown = factor == 1 || decades < kEnough;
      if (is_shown && number >= axis.low && number <= axis.high) numbers.push_back(number);
    }
  }
  return numbers;
}

/// Where something is, as far as their labels have room.
std::vector<double> points_on(const Chart& chart, const Page& page) {
  constexpr double kRoom = 44;
  std::vector<double> all, shown;
  for (const Series& series : chart.series) {
    for (const auto& [x, y] : series.points) all.push_back(x);
  }
  std::sort(all.begin(), all.end());
  for (const double x : all) {
    if (shown.empty() || page.x(x) - page.x(shown.back()) >= kRoom) shown.push_back(x);
  }
  return shown;
}

std::string x_label_at(double x, const std::string& text, const Page& page, double lower = 0) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", page.x(x),
                     page.bottom() + 18 + lower, escaped(text));
}

/// The labels; every second one is lower where they are too long to stand side by side.
std::string category_names(const Chart& chart, const Page& page) {
  constexpr double kLetter = 6.5, kLine = 15;
  const double room = kPlotWidth / static_cast<double>(chart.categories.size());
  const bool is_tight = std::any_of(chart.categories.begin(), chart.categories.end(), [&](const std::string& name) {
    return kLetter * static_cast<double>(name.size()) > room;
  });
  std::string svg;
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    svg += x_label_at(static_cast<double>(i), chart.categories[i], page, is_tight && i % 2 == 1 ? kLine : 0);
  }
  return svg;
}

std::string svg_frame(const Chart& chart, const Page& page) {
  const double bottom = page.bottom();
  std::string svg = fmt::format(
      "<text x=\"{}\" y=\"{}\" class=\"title\">{}</text>\n"
      "<path d=\"M{} {}V{}H{}\" class=\"axis\"/>\n"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      kLeftMargin, page.top + 22, escaped(chart.title), kLeftMargin, page.top + kTop, bottom, kPlotRight,
      kLeftMargin + kPlotWidth / 2, bottom + 38, escaped(chart.x_label), page.top + kTop + kPlotHeight / 2,
      escaped(chart.y_label));
  if (!chart.categories.empty()) svg += category_names(chart, page);
  if (chart.categories.empty()) {
    for (const double x : chart.log_x ? points_on(chart, page) : round_numbers(page.axes.x, 6)) {
      svg += x_label_at(x, axis_label(x), page);
    }
  }
  for (const double y : chart.log_y ? round_numbers_of_log(page.axes.y) : round_numbers(page.axes.y, 5)) {
    svg += fmt::format(
        "<path d=\"M{} {:.1f}H{}\" class=\"grid\"/><text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeftMargin, page.y(y), kPlotRight, kLeftMargin - 6, page.y(y) + 4, axis_label(y));
  }
  return svg;
}

/// How a series looks: a reference like the series that it belongs to, but dashed and with hollow symbols.
struct Style {
  const char* colour;
  const char* symbol;
  const char* dashes;
  bool is_hollow;
};

std::vector<Style> styles_of(const Chart& chart) {
  std::vector<Style> styles;
  std::size_t number = 0;
  for (const Series& series : chart.series) {
    if (!styles.empty() && !series.is_reference) ++number;
    const char* dashes = chart.stepped ? kDashes[number % kDashes.size()] : "";
    styles.push_back({kColours[number % kColours.size()], kSymbols[number % kSymbols.size()],
                      series.is_reference ? "4 3" : dashes, series.is_reference});
  }
  return styles;
}

std::string svg_series(const Series& series, const Style& style, const Chart& chart, const Page& page) {
  std::string path, symbols;
  const bool has_symbols = !chart.stepped && series.points.size() <= kMostSymbols;
  for (const auto& [x, y] : series.points) {
    if (path.empty()) {
      path = fmt::format("M{:.1f} {:.1f}", page.x(x), page.y(y));
    } else if (chart.stepped) {
      path += fmt::format("H{:.1f}V{:.1f}", page.x(x), page.y(y));
    } else {
      path += fmt::format("L{:.1f} {:.1f}", page.x(x), page.y(y));
    }
    if (has_symbols) {
      symbols += fmt::format("<path transform=\"translate({:.1f} {:.1f})\" d=\"{}\" stroke=\"{}\" class=\"{}\"{}/>\n",
                             page.x(x), page.y(y), style.symbol, style.colour, style.is_hollow ? "hollow" : "full",
                             style.is_hollow ? "" : fmt::format(" fill=\"{}\"", style.colour));
    }
  }
  if (!chart.categories.empty()) return symbols;
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n", path,
                     style.colour, style.dashes) +
         symbols;
}

/// Whether a name has no room at the right: then all series have letters there, and lines below the chart explain them.
bool has_long_names(const Chart& chart) {
  constexpr std::size_t kRoom = 30;
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [](const Series& series) { return series.name.size() > kRoom; });
}

std::vector<std::string> lines_below(const Chart& chart) {
  constexpr std::size_t kRoom = 100;
  std::vector<std::string> lines;
  if (!has_long_names(chart)) return lines;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const auto& name = chart.series[i].name;
    for (std::string& line : wrapped(fmt::format("{}: {}", letter_of(i, chart.series.size()), name), kRoom)) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

/// The names of the series at the right, in the order of their ends, each with a line to its series' end.
std::string svg_names(const Chart& chart, const std::vector<Style>& styles, const Page& page) {
  constexpr double kLine = 14;
  struct Name {
    std::size_t series;
    double x, end, y;
  };
  std::vector<Name> names;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].points.empty()) continue;
    const auto& [x, y] = chart.series[i].points.back();
    names.push_back({i, page.x(x), page.y(y), page.y(y)});
  }
  std::stable_sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.y < b.y; });
  // Names move down where they are too close, then up again where they are too low.
  for (std::size_t i = 1; i < names.size(); ++i) names[i].y = std::max(names[i].y, names[i - 1].y + kLine);
  double lowest = page.bottom() + kBottom / 2;
  for (std::size_t i = names.size(); i-- > 0; lowest -= kLine) names[i].y = std::min(names[i].y, lowest);
  const bool are_long = has_long_names(chart);
  std::string svg;
  for (const Name& name : names) {
    const std::string letter(1, letter_of(name.series, chart.series.size()));
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}L{} {:.1f}H{}\" stroke=\"{}\" class=\"leader\"/>"
        "<text x=\"{}\" y=\"{:.1f}\">{}</text>\n",
        name.x, name.end, kPlotRight + 14, name.y, kPlotRight + 18, styles[name.series].colour, kPlotRight + 22,
        name.y + 4, are_long ? letter : escaped(chart.series[name.series].name));
  }
  return svg;
}

}  // namespace
std::string svg_of(const std::vector<Chart>& charts) {
  std::string body;
  double top = 0;
  for (const Chart& chart : charts) {
    if (!has_points(chart)) continue;
    const Page page = page_of(chart, top);
    const auto styles = styles_of(chart);
    body += svg_frame(chart, page) + svg_names(chart, styles, page);
    for (std::size_t i = 0; i < chart.series.size(); ++i) body += svg_series(chart.series[i], styles[i], chart, page);
    if (chart.mark_x) {
      body +=
          fmt::format("<path d=\"M{:.1f} {}V{}\" class=\"mark\"/>\n", page.x(*chart.mark_x), top + kTop, page.bottom());
    }
    top += kHeight;
    for (const std::string& line : lines_below(chart)) {
      constexpr double kLine = 16;
      body += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kLeftMargin, top + kLine - 4, escaped(line));
      top += kLine;
    }
  }
  // The page has its own background, since a document around it may be dark where the system is light.
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.title{{font-size:15px;font-weight:bold}} .axis{{fill:none;stroke:#777}} "
      ".grid{{stroke:#999;stroke-opacity:.3}} .mark{{stroke:#777;stroke-dasharray:3 3}} "
      ".leader{{fill:none;stroke-opacity:.45}} .page,.hollow{{fill:#fff}} .hollow,.full{{stroke-width:1.5}} "
      "text{{fill:#222}} @media (prefers-color-scheme: dark)"
      "{{text{{fill:#ddd}} .page,.hollow{{fill:#0d1117}} [stroke='#0072b2']{{stroke:#4a9fd8}} "
      "[fill='#0072b2']{{fill:#4a9fd8}}}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" rx=\"6\" class=\"page\"/>\n{2}</svg>\n",
      kWidth, std::max(top, 1.0), body);
}

}  // namespace mmtune
