#include "tuner/documents/study_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mmtune {
namespace {

const std::string kTunedTable = "tuned";  ///< the last table of a document

double or_unknown(const std::optional<double>& value) { return value.value_or(StudyResult::kUnknown_ms); }

double gflops(const Problem& problem, double ms) { return flops(problem) / ms * 1e-6; }

/// Whether the time of all counts and not that of the kernel: only the first was published.
bool counts_total(const StudyCase& what) { return what.published_total_ms && !what.published_kernel_ms; }

Tone result_tone(const StudyResult& result) {
  if (std::isnan(result.kernel_ms)) return Tone::bad;
  return result.origin == Origin::measured ? Tone::plain : Tone::caution;
}

/// The number with three significant digits; nothing for an unknown time.
std::string time_text(double ms) { return std::isnan(ms) ? "" : fmt::format("{:.{}f}", ms, ms < 10 ? 3 : 1); }

std::string time_text(double ms, Origin origin) {
  return time_text(ms) + (origin == Origin::extrapolated && !std::isnan(ms) ? "*" : "");
}

using Names = std::vector<std::string>;

Names names_of(const std::vector<StudyResult>& results, std::string StudyCase::*name_of) {
  Names names;
  for (const StudyResult& result : results) {
    const std::string& name = result.what.*name_of;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<StudyResult> of_table(const std::vector<StudyResult>& results, std::string_view document,
                                  const std::string& table) {
  std::vector<StudyResult> some;
  std::copy_if(results.begin(), results.end(), std::back_inserter(some),
               [&](const StudyResult& each) { return each.what.document == document && each.what.table == table; });
  return some;
}

const StudyResult* cell_of(const std::vector<StudyResult>& results, const std::string& row, const std::string& column) {
  const auto found = std::find_if(results.begin(), results.end(), [&](const StudyResult& each) {
    return each.what.row == row && each.what.column == column;
  });
  return found == results.end() ? nullptr : &*found;
}

/// What a table shows of each column, as far as the document has it.
struct Shown {
  bool kernel = false, published_kernel = false, total = false;
};

Shown shown_of(const std::vector<StudyResult>& results, const std::string& column) {
  Shown shown;
  for (const StudyResult& each : results) {
    if (each.what.column != column) continue;
    shown.kernel = shown.kernel || !counts_total(each.what);
    shown.published_kernel = shown.published_kernel || each.what.published_kernel_ms;
    shown.total = shown.total || each.what.published_total_ms;
  }
  return shown;
}

Table laid_out(const std::vector<StudyResult>& results) {
  const Names rows = names_of(results, &StudyCase::row);
  const Names columns = names_of(results, &StudyCase::column);
  std::vector<Column> headings{{"", kRight}};
  for (const auto& column : columns) {
    const Shown shown = shown_of(results, column);
    if (shown.published_kernel) headings.push_back({column + " published", kRight});
    if (shown.kernel) headings.push_back({column + " here", kRight});
    if (shown.total) headings.push_back({column + " total published", kRight});
    if (shown.total) headings.push_back({column + " total here", kRight});
  }
  Table table(std::move(headings));
  for (const auto& row : rows) {
    std::vector<Cell> cells{row};
    for (const auto& column : columns) {
      const Shown shown = shown_of(results, column);
      const StudyResult* cell = cell_of(results, row, column);
      const auto add = [&](const auto& text) { cells.push_back(cell == nullptr ? std::string() : text(*cell)); };
      if (shown.published_kernel) {
        add([](const StudyResult& each) { return time_text(or_unknown(each.what.published_kernel_ms)); });
      }
      if (shown.kernel) add([](const StudyResult& each) { return time_text(each.kernel_ms, each.origin); });
      if (!shown.total) continue;
      add([](const StudyResult& each) { return time_text(or_unknown(each.what.published_total_ms)); });
      add([](const StudyResult& each) { return time_text(each.total_ms, each.origin); });
    }
    table.add(std::move(cells));
  }
  return table;
}

/// The time that the document is about.
double published_ms(const StudyCase& what) {
  return or_unknown(counts_total(what) ? what.published_total_ms : what.published_kernel_ms);
}

double found_ms(const StudyResult& result) { return counts_total(result.what) ? result.total_ms : result.kernel_ms; }

/// The places of a table's rows on a chart's x axis.
class RowPlaces {
 public:
  explicit RowPlaces(Names rows) : rows_(std::move(rows)) {
    is_numeric_ = std::all_of(rows_.begin(), rows_.end(), [](const std::string& row) {
      const std::size_t end = row.find_first_not_of("0123456789");
      return end != 0 && (end == std::string::npos || row[end] == ' ');
    });
  }

  /// Nothing where all rows begin with a number, which is their place.
  Names categories() const { return is_numeric_ ? Names() : rows_; }

  double place(const std::string& row) const {
    if (is_numeric_) return std::stod(row);
    return static_cast<double>(std::find(rows_.begin(), rows_.end(), row) - rows_.begin());
  }

  /// What tells apart rows of the same place: " tile 16" of "256 tile 16".
  std::string rest(const std::string& row) const {
    const std::size_t space = row.find(' ');
    return is_numeric_ && space != std::string::npos ? row.substr(space) : "";
  }

 private:
  Names rows_;
  bool is_numeric_ = false;
};

/// Adds to the series of this name, which comes last if it is new.
void add_point(std::vector<Series>& all, const std::string& name, bool is_reference, double x, double y) {
  if (std::isnan(y)) return;
  auto series = std::find_if(all.begin(), all.end(), [&](const Series& each) { return each.name == name; });
  if (series == all.end()) series = all.insert(all.end(), {name, {}, is_reference});
  if (series->points.empty() || series->points.back().first != x) series->points.emplace_back(x, y);
}

/// The tuned kernels beside the rows of their problems; where a row has problems of several sizes, as a row of its own.
void add_tuned_points(Chart& chart, const std::vector<StudyResult>& some, const std::vector<StudyResult>& tuned,
                      const RowPlaces& places) {
  const bool rows_are_kernels = std::any_of(some.begin(), some.end(), [&](const StudyResult& each) {
    return each.what.row == some.front().what.row && each.what.problem.m != some.front().what.problem.m;
  });
  if (rows_are_kernels) chart.categories.emplace_back(kTunedTable);
  const std::size_t precisions = names_of(tuned, &StudyCase::column).size();
  for (const StudyResult& best : tuned) {
    const std::string name =
        fmt::format("{}{}{}", kTunedTable, precisions > 1 ? " " : "", precisions > 1 ? best.what.column : "");
    for (const StudyResult& each : some) {
      if (!(each.what.problem == best.what.problem)) continue;
      const double speed = gflops(best.what.problem, counts_total(each.what) ? best.total_ms : best.kernel_ms);
      if (rows_are_kernels) {
        add_point(chart.series, each.what.column, false, static_cast<double>(chart.categories.size() - 1), speed);
      } else {
        add_point(chart.series, name, false, places.place(each.what.row), speed);
      }
    }
  }
}

Chart chart_of(const std::vector<StudyResult>& some, const std::vector<StudyResult>& tuned) {
  const RowPlaces places(names_of(some, &StudyCase::row));
  const StudyCase& first = some.front().what;
  const bool of_totals =
      std::all_of(some.begin(), some.end(), [](const StudyResult& each) { return counts_total(each.what); });
  Chart chart{.title = fmt::format("{}: {}", first.document, first.table),
              .x_label = places.categories().empty() ? "rows and columns of C, or of a block" : "",
              .y_label = of_totals ? "GFLOP/s, with allocation and copies" : "GFLOP/s of the kernel",
              .series = {},
              .mark_x = {},
              .log_x = true,
              .log_y = true,
              .categories = places.categories()};
  for (const StudyResult& each : some) {
    const std::string name = each.what.column + places.rest(each.what.row);
    const double x = places.place(each.what.row);
    const Problem& problem = each.what.problem;
    add_point(chart.series, name, false, x, gflops(problem, found_ms(each)));
    const bool has_own = !chart.series.empty() && chart.series.back().name == name;
    add_point(chart.series, name + ", published", has_own, x, gflops(problem, published_ms(each.what)));
  }
  add_tuned_points(chart, some, tuned, places);
  for (Series& series : chart.series) std::sort(series.points.begin(), series.points.end());
  return chart;
}

}  // namespace

Table study_rows(const std::vector<StudyResult>& results) {
  using Row = StudyResult;
  const auto ms = [](double value) { return Cell(value, 6); };
  const std::vector<CellOf<Row>> columns{
      {{"document"}, [](const Row& r) { return r.what.document; }},
      {{"table"}, [](const Row& r) { return r.what.table; }},
      {{"row"}, [](const Row& r) { return r.what.row; }},
      {{"column"}, [](const Row& r) { return r.what.column; }},
      {{"precision"}, [](const Row& r) { return to_string(r.what.problem.precision); }},
      {{"m", kRight}, [](const Row& r) { return r.what.problem.m; }},
      {{"n", kRight}, [](const Row& r) { return r.what.problem.n; }},
      {{"k", kRight}, [](const Row& r) { return r.what.problem.k; }},
      {{"family"}, [](const Row& r) { return r.what.family; }},
      {{"config", Align::left, Fit::wraps}, [](const Row& r) { return r.what.config; }},
      {{"origin"}, [](const Row& r) { return to_string(r.origin); }},
      {{"kernel_ms", kRight}, [ms](const Row& r) { return ms(r.kernel_ms); }},
      {{"total_ms", kRight}, [ms](const Row& r) { return ms(r.total_ms); }},
      {{"gflops", kRight}, [](const Row& r) { return Cell(gflops(r.what.problem, found_ms(r)), 2); }},
      {{"published_kernel_ms", kRight}, [ms](const Row& r) { return ms(or_unknown(r.what.published_kernel_ms)); }},
      {{"published_total_ms", kRight}, [ms](const Row& r) { return ms(or_unknown(r.what.published_total_ms)); }},
      {{"published_gflops", kRight},
       [](const Row& r) { return Cell(gflops(r.what.problem, published_ms(r.what)), 2); }},
      {{"gpu"}, [](const Row& r) { return r.gpu; }},
      {{"note"}, [](const Row& r) { return r.note; }},
  };
  return table_of(columns, results, result_tone);
}

std::vector<std::pair<std::string, Table>> study_layout(const std::vector<StudyResult>& results,
                                                        std::string_view document) {
  std::vector<std::pair<std::string, Table>> tables;
  const auto& documents = study_documents();
  const auto named = std::find_if(documents.begin(), documents.end(),
                                  [&](const StudyDocument& each) { return each.name == document; });
  for (const auto& name : names_of(results, &StudyCase::table)) {
    const auto some = of_table(results, document, name);
    if (some.empty()) continue;
    std::string heading = fmt::format("{} {}, {}", document, named->title, name);
    if (!named->gpu.empty()) heading += fmt::format("; published: {}", named->gpu);
    tables.emplace_back(std::move(heading), laid_out(some));
  }
  return tables;
}

std::vector<Chart> study_charts(const std::vector<StudyResult>& results, std::string_view document) {
  std::vector<Chart> charts;
  const auto tuned = of_table(results, document, kTunedTable);
  for (const auto& name : names_of(results, &StudyCase::table)) {
    const auto some = of_table(results, document, name);
    if (name == kTunedTable || some.empty()) continue;
    Chart chart = chart_of(some, tuned);
    const bool has_curve = std::any_of(chart.series.begin(), chart.series.end(),
                                       [](const Series& series) { return series.points.size() > 1; });
    if (has_curve) charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace mmtune
