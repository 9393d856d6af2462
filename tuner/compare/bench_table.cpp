#include "tuner/compare/bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tuner/text/sizes.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

double tflops(const BenchRow& row) { return tflops(row.problem, row.comparison.ours.timing.median_us); }

double their_time_us(const BenchRow& row, std::size_t entry) {
  const auto& side = row.comparison.theirs[entry];
  return side ? side->timing.median_us : kUnknown;
}

double their_error(const BenchRow& row) {
  const Comparison& comparison = row.comparison;
  return comparison.best ? comparison.theirs[*comparison.best]->error : kUnknown;
}

/// The number with as many decimals as four significant digits take.
Cell significant(double value) {
  const bool ordinary = std::isfinite(value) && value > 0;
  return {value, ordinary ? std::clamp(3 - static_cast<int>(std::floor(std::log10(value))), 0, 30) : 0};
}

Cell clock_mhz(const BenchRow& row) { return {row.comparison.sm_clock_mhz.value_or(kUnknown), 0}; }

Cell power_w(const BenchRow& row) { return {row.comparison.power_w.value_or(kUnknown), 0}; }

using Columns = std::vector<CellOf<BenchRow>>;

/// One column for each entry of the opponent, by its name and this suffix.
void add_times(Columns& columns, const std::vector<std::string>& entries, const char* suffix, int digits) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    columns.push_back({{entries[i] + suffix, Align::right},
                       [i, digits](const BenchRow& row) { return Cell(their_time_us(row, i), digits); }});
  }
}

/// NaN where there is no opponent.
Ratio ratio_to(const BenchRow& row) { return row.comparison.ratio.value_or(Ratio{kUnknown, kUnknown, kUnknown}); }

Columns full_columns(std::string_view opponent, const std::vector<std::string>& entries) {
  Columns columns{
      {{"set"}, [](const BenchRow& row) { return row.set; }},
      {{"precision"}, [](const BenchRow& row) { return to_string(row.problem.precision); }},
      {{"layout"}, [](const BenchRow& row) { return to_string(row.problem.layout); }},
      {{"m"}, [](const BenchRow& row) { return row.problem.m; }},
      {{"n"}, [](const BenchRow& row) { return row.problem.n; }},
      {{"k"}, [](const BenchRow& row) { return row.problem.k; }},
      {{"mmtune_us"}, [](const BenchRow& row) { return Cell(row.comparison.ours.timing.median_us, 3); }},
  };
  add_times(columns, entries, "_us", 3);
  const Columns rest{
      {{"ratio"}, [](const BenchRow& row) { return Cell(ratio_to(row).median, 4); }},
      {{"ratio_low"}, [](const BenchRow& row) { return Cell(ratio_to(row).low, 4); }},
      {{"ratio_high"}, [](const BenchRow& row) { return Cell(ratio_to(row).high, 4); }},
      {{"mmtune_tflops"}, [](const BenchRow& row) { return Cell(tflops(row), 4); }},
      {{"peak_share"}, [](const BenchRow& row) { return Cell(tflops(row) / row.peak_tflops, 4); }},
      {{"mmtune_error"}, [](const BenchRow& row) { return significant(row.comparison.ours.error); }},
      {{fmt::format("{}_error", opponent)}, [](const BenchRow& row) { return significant(their_error(row)); }},
      {{"sm_clock_mhz"}, clock_mhz},
      {{"sm_power_w"}, power_w},
      {{"family"}, [](const BenchRow& row) { return row.family; }},
      {{"config"}, [](const BenchRow& row) { return row.config; }},
      {{"commit"}, [](const BenchRow&) { return build_commit(); }},
  };
  columns.insert(columns.end(), rest.begin(), rest.end());
  return columns;
}

/// Green where we are faster beyond doubt, red where they are.
Tone bench_tone(const BenchRow& row) {
  const std::optional<Ratio>& ratio = row.comparison.ratio;
  if (!ratio) return Tone::plain;
  return ratio->low >= 1 ? Tone::good : ratio->high < 1 ? Tone::bad : Tone::caution;
}

std::string scientific(double value) { return std::isfinite(value) ? fmt::format("{:.1e}", value) : ""; }

std::string interval(const std::optional<Ratio>& ratio) {
  return ratio ? fmt::format("{:.3f} to {:.3f}", ratio->low, ratio->high) : "";
}

Columns friendly_columns(std::string_view opponent, const std::vector<std::string>& entries) {
  Columns columns{
      {{"set", Align::left, Fit::shared}, [](const BenchRow& row) { return row.set; }},
      {{"size", kRight}, [](const BenchRow& row) { return to_string(size_of(row.problem)); }},
      {{"type", Align::left, Fit::shared}, [](const BenchRow& row) { return type_text(row.problem); }},
      {{"mmtune µs", kRight}, [](const BenchRow& row) { return Cell(row.comparison.ours.timing.median_us, 2); }},
  };
  add_times(columns, entries, " µs", 2);
  const Columns rest{
      {{"ratio", kRight}, [](const BenchRow& row) { return Cell(ratio_to(row).median, 3); }},
      {{"95 %", kRight}, [](const BenchRow& row) { return interval(row.comparison.ratio); }},
      {{"TFLOP/s", kRight}, [](const BenchRow& row) { return Cell(tflops(row), 2); }},
      {{"% peak", kRight}, [](const BenchRow& row) { return Cell(100 * tflops(row) / row.peak_tflops, 1); }},
      {{"error", kRight}, [](const BenchRow& row) { return scientific(row.comparison.ours.error); }},
      {{fmt::format("{} error", opponent), kRight}, [](const BenchRow& row) { return scientific(their_error(row)); }},
      {{"MHz", kRight}, clock_mhz},
      {{"W", kRight}, power_w},
      {{"kernel", Align::left, Fit::wraps},
       [](const BenchRow& row) { return fmt::format("{} {}", row.family, row.config); }},
  };
  columns.insert(columns.end(), rest.begin(), rest.end());
  return columns;
}

}  // namespace

std::string set_name(std::string_view sizes) {
  if (!sizes.starts_with('@') || sizes.find(',') != std::string_view::npos) return "sizes";
  return std::filesystem::path(sizes.substr(1)).stem().string();
}

Table bench_table(const std::vector<BenchRow>& rows, std::string_view opponent, const std::vector<std::string>& entries,
                  Format format) {
  const bool full = is_for_programs(format);
  return table_of(full ? full_columns(opponent, entries) : friendly_columns(opponent, entries), rows, bench_tone);
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
                                to_string(size_of(least->problem))));
  }
  return lines;
}

}  // namespace mmtune
