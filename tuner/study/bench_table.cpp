#include "tuner/study/bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "tuner/text/sizes.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double tflops(const BenchRow& row) { return flops(row.problem) / row.comparison.ours.timing.median_us * 1e-6; }

double their_time_us(const BenchRow& row, std::size_t entry) {
  const auto& side = row.comparison.theirs[entry];
  return side ? side->timing.median_us : kUnknown;
}

double their_error(const BenchRow& row) {
  const Comparison& comparison = row.comparison;
  return comparison.best ? comparison.theirs[*comparison.best]->error : kUnknown;
}

/// With as many decimals as four significant digits take.
Real significant(double value) {
  const bool ordinary = std::isfinite(value) && value > 0;
  return {value, ordinary ? std::clamp(3 - static_cast<int>(std::floor(std::log10(value))), 0, 30) : 0};
}

Cell text(std::string_view view) { return std::string(view); }

std::string size_text(const Problem& problem) { return to_string(Size{problem.m, problem.n, problem.k}); }

Table full_table(const std::vector<BenchRow>& rows, std::string_view opponent,
                 const std::vector<std::string>& entries) {
  std::vector<Column> columns{{"set"}, {"precision"}, {"layout"}, {"m"}, {"n"}, {"k"}, {"mmtune_us"}};
  for (const auto& entry : entries) columns.push_back({entry + "_us"});
  for (const auto* name : {"ratio", "ratio_low", "ratio_high", "mmtune_tflops", "peak_share", "mmtune_error"}) {
    columns.push_back({name});
  }
  columns.push_back({fmt::format("{}_error", opponent)});
  for (const auto* name : {"sm_clock_mhz", "family", "config", "commit"}) columns.push_back({name});

  Table table(std::move(columns));
  for (const auto& row : rows) {
    const Comparison& comparison = row.comparison;
    const Ratio ratio = comparison.ratio.value_or(Ratio{kUnknown, kUnknown, kUnknown});
    std::vector<Cell> cells{row.set,
                            text(to_string(row.problem.precision)),
                            text(to_string(row.problem.layout)),
                            row.problem.m,
                            row.problem.n,
                            row.problem.k};
    cells.emplace_back(Real{comparison.ours.timing.median_us, 3});
    for (std::size_t i = 0; i < entries.size(); ++i) cells.emplace_back(Real{their_time_us(row, i), 3});
    for (const double value : {ratio.median, ratio.low, ratio.high, tflops(row), tflops(row) / row.peak_tflops}) {
      cells.emplace_back(Real{value, 4});
    }
    cells.emplace_back(significant(comparison.ours.error));
    cells.emplace_back(significant(their_error(row)));
    cells.emplace_back(Real{comparison.sm_clock_mhz.value_or(kUnknown), 0});
    for (const auto& value : {row.family, row.config}) cells.emplace_back(value);
    cells.push_back(text(build_commit()));
    table.add(std::move(cells));
  }
  return table;
}

/// Green where we are faster beyond doubt, red where they are.
Tone tone_of(const std::optional<Ratio>& ratio) {
  if (!ratio) return Tone::plain;
  return ratio->low >= 1 ? Tone::good : ratio->high < 1 ? Tone::bad : Tone::caution;
}

std::string scientific(double value) { return std::isfinite(value) ? fmt::format("{:.1e}", value) : ""; }

Table friendly_table(const std::vector<BenchRow>& rows, std::string_view opponent,
                     const std::vector<std::string>& entries) {
  constexpr auto kRight = Align::right;
  std::vector<Column> columns{{"set"}, {"size", kRight}, {"type"}, {"mmtune µs", kRight}};
  for (const auto& entry : entries) columns.push_back({entry + " µs", kRight});
  for (const auto* name : {"ratio", "95 %", "TFLOP/s", "% peak", "error"}) columns.push_back({name, kRight});
  columns.push_back({fmt::format("{} error", opponent), kRight});
  columns.push_back({"MHz", kRight});
  columns.push_back({"kernel"});

  Table table(std::move(columns));
  for (const auto& row : rows) {
    const Comparison& comparison = row.comparison;
    const auto& ratio = comparison.ratio;
    std::vector<Cell> cells{row.set, size_text(row.problem),
                            fmt::format("{} {}", to_string(row.problem.precision), to_string(row.problem.layout))};
    cells.emplace_back(Real{comparison.ours.timing.median_us, 2});
    for (std::size_t i = 0; i < entries.size(); ++i) cells.emplace_back(Real{their_time_us(row, i), 2});
    cells.emplace_back(Real{ratio ? ratio->median : kUnknown, 3});
    cells.emplace_back(ratio ? fmt::format("{:.3f} to {:.3f}", ratio->low, ratio->high) : "");
    cells.emplace_back(Real{tflops(row), 2});
    cells.emplace_back(Real{100 * tflops(row) / row.peak_tflops, 1});
    cells.emplace_back(scientific(comparison.ours.error));
    cells.emplace_back(scientific(their_error(row)));
    cells.emplace_back(Real{comparison.sm_clock_mhz.value_or(kUnknown), 0});
    cells.emplace_back(fmt::format("{} {}", row.family, row.config));
    table.add(std::move(cells), tone_of(ratio));
  }
  return table;
}

}  // namespace

std::string set_name(std::string_view sizes) {
  if (!sizes.starts_with('@') || sizes.find(',') != std::string_view::npos) return "sizes";
  return std::filesystem::path(sizes.substr(1)).stem().string();
}

Table bench_table(const std::vector<BenchRow>& rows, std::string_view opponent, const std::vector<std::string>& entries,
                  Format format) {
  return format == Format::csv || format == Format::json ? full_table(rows, opponent, entries)
                                                         : friendly_table(rows, opponent, entries);
}

std::vector<std::string> bench_summary(const std::vector<BenchRow>& rows) {
  struct Group {
    std::string name;
    std::vector<const BenchRow*> rows;
  };
  std::vector<Group> groups;
  for (const auto& row : rows) {
    if (!row.comparison.ratio) continue;
    const auto name = fmt::format("{} {}", row.set, to_string(row.problem.precision));
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->rows.push_back(&row);
  }
  std::vector<std::string> lines;
  for (const auto& group : groups) {
    double log_sum = 0;
    const BenchRow* least = group.rows.front();
    for (const BenchRow* row : group.rows) {
      log_sum += std::log(row->comparison.ratio->median);
      if (row->comparison.ratio->median < least->comparison.ratio->median) least = row;
    }
    lines.push_back(fmt::format("{}: geometric mean {:.3f} of {} ratios, the least {:.3f} at {} {}", group.name,
                                std::exp(log_sum / static_cast<double>(group.rows.size())), group.rows.size(),
                                least->comparison.ratio->median, to_string(least->problem.layout),
                                size_text(least->problem)));
  }
  return lines;
}

}  // namespace mmtune
