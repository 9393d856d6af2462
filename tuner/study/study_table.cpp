#include "tuner/study/study_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mmtune {
namespace {

double or_unknown(const std::optional<double>& value) { return value.value_or(StudyResult::kUnknown_ms); }

double gflops(const Problem& problem, double ms) { return flops(problem) / ms * 1e-6; }

/// Of the kernel, or of all where only that was published.
bool counts_total(const StudyCase& what) { return what.published_total_ms && !what.published_kernel_ms; }

Tone result_tone(const StudyResult& result) {
  if (std::isnan(result.kernel_ms)) return Tone::bad;
  return result.origin == Origin::measured ? Tone::plain : Tone::caution;
}

/// Three significant digits; nothing for an unknown time.
std::string time_text(double ms) { return std::isnan(ms) ? "" : fmt::format("{:.{}f}", ms, ms < 10 ? 3 : 1); }

std::string time_text(double ms, Origin origin) {
  return time_text(ms) + (origin == Origin::extrapolated && !std::isnan(ms) ? "*" : "");
}

using Names = std::vector<std::string>;

template <class NameOf>
Names names_of(const std::vector<StudyResult>& results, const NameOf& name_of) {
  Names names;
  for (const StudyResult& result : results) {
    const std::string& name = name_of(result.what);
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
  const Names rows = names_of(results, [](const StudyCase& what) -> const std::string& { return what.row; });
  const Names columns = names_of(results, [](const StudyCase& what) -> const std::string& { return what.column; });
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

}  // namespace

Table study_rows(const std::vector<StudyResult>& results) {
  using Row = StudyResult;
  const auto ms = [](double value) { return Real{value, 6}; };
  const std::vector<CellOf<Row>> columns{
      {{"document"}, [](const Row& r) { return r.what.document; }},
      {{"table"}, [](const Row& r) { return r.what.table; }},
      {{"row"}, [](const Row& r) { return r.what.row; }},
      {{"column"}, [](const Row& r) { return r.what.column; }},
      {{"precision"}, [](const Row& r) { return std::string(to_string(r.what.problem.precision)); }},
      {{"m", kRight}, [](const Row& r) { return r.what.problem.m; }},
      {{"n", kRight}, [](const Row& r) { return r.what.problem.n; }},
      {{"k", kRight}, [](const Row& r) { return r.what.problem.k; }},
      {{"family"}, [](const Row& r) { return r.what.family; }},
      {{"config"}, [](const Row& r) { return r.what.config; }},
      {{"origin"}, [](const Row& r) { return std::string(to_string(r.origin)); }},
      {{"kernel_ms", kRight}, [ms](const Row& r) { return ms(r.kernel_ms); }},
      {{"total_ms", kRight}, [ms](const Row& r) { return ms(r.total_ms); }},
      {{"gflops", kRight},
       [](const Row& r) {
         return Real{gflops(r.what.problem, counts_total(r.what) ? r.total_ms : r.kernel_ms), 2};
       }},
      {{"published_kernel_ms", kRight}, [ms](const Row& r) { return ms(or_unknown(r.what.published_kernel_ms)); }},
      {{"published_total_ms", kRight}, [ms](const Row& r) { return ms(or_unknown(r.what.published_total_ms)); }},
      {{"published_gflops", kRight},
       [](const Row& r) {
         const auto& time = counts_total(r.what) ? r.what.published_total_ms : r.what.published_kernel_ms;
         return Real{gflops(r.what.problem, or_unknown(time)), 2};
       }},
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
  for (const auto& name : names_of(results, [](const StudyCase& what) -> const std::string& { return what.table; })) {
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
  for (const auto& name : names_of(results, [](const StudyCase& what) -> const std::string& { return what.table; })) {
    const auto some = of_table(results, document, name);
    Chart chart{.title = fmt::format("{}: {}", document, name),
                .x_label = "rows and columns of C, or of a block",
                .y_label = "ms",
                .series = {},
                .mark_x = {},
                .log_x = true,
                .log_y = true};
    for (const auto& column : names_of(some, [](const StudyCase& what) -> const std::string& { return what.column; })) {
      Series then{column + ", published", {}}, now{column, {}};
      for (const StudyResult& each : some) {
        if (each.what.column != column) continue;
        // A row of another kind than a number, as "256 tile 16", counts by its size.
        const bool is_number = each.what.row.find_first_not_of("0123456789") == std::string::npos;
        const double x =
            is_number ? std::stod(each.what.row)
                      : std::sqrt(static_cast<double>(each.what.problem.m) * static_cast<double>(each.what.problem.n));
        const bool total = counts_total(each.what);
        const auto& published = total ? each.what.published_total_ms : each.what.published_kernel_ms;
        const double ours = total ? each.total_ms : each.kernel_ms;
        if (published) then.points.emplace_back(x, *published);
        if (ours > 0) now.points.emplace_back(x, ours);
      }
      for (Series* series : {&then, &now}) {
        std::sort(series->points.begin(), series->points.end());
        if (series->points.size() > 1) chart.series.push_back(std::move(*series));
      }
    }
    if (!chart.series.empty()) charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace mmtune
