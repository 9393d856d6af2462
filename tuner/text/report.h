// The results that the program prints: tables on stdout, in four formats.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mmtune {

enum class Format { table, csv, json, md };
/// Whether it has all columns, by names that stay.
constexpr bool is_for_programs(Format format) { return format == Format::csv || format == Format::json; }

enum class ColorMode { automatic, always, never };

/// A text or a number. A missing one prints as nothing (JSON: null); so does a real one that is not finite.
class Cell {
 public:
  struct Real {
    double value = 0;
    int digits = 0;  ///< the number of decimals
  };
  using Value = std::variant<std::monostate, std::string, std::int64_t, Real>;

  Cell() = default;
  Cell(std::string text) : value_(std::move(text)) {}
  Cell(std::string_view text) : value_(std::string(text)) {}
  Cell(const char* text) : value_(std::string(text)) {}
  Cell(double number, int digits) : value_(Real{number, digits}) {}
  /// A flag becomes 0 or 1.
  template <std::integral Number>
  Cell(Number number) : value_(static_cast<std::int64_t>(number)) {}

  const Value& value() const { return value_; }

 private:
  Value value_;
};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

enum class Align { left, right };
inline constexpr Align kRight = Align::right;

/// What a column does to make a table narrower.
enum class Fit {
  whole,
  wraps,   ///< Its cells go on in further lines where the terminal is too narrow, or stand below their rows.
  spare,   ///< It leaves the table where the terminal is too narrow, the last one first; a line says so.
  shared,  ///< It leaves the table where all rows say the same, which is said once above them; else it wraps.
};

struct Column {
  std::string name;  ///< the heading, CSV column and JSON key
  Align align = Align::left;
  Fit fit = Fit::whole;
};
inline Column left(std::string name, Fit fit = Fit::whole) { return {std::move(name), Align::left, fit}; }
inline Column right(std::string name, Fit fit = Fit::whole) { return {std::move(name), Align::right, fit}; }

/// How Format::table is laid out.
struct TableLayout {
  bool color = false;
  bool wide = true;       ///< whether all columns are shown; else none that is shared, and none that is empty
  std::size_t width = 0;  ///< the columns of the terminal; 0: no limit
};

/// How a row looks on a colour terminal; never the only carrier of information.
enum class Tone { plain, good, caution, bad };

/// A value type: columns and rows of as many cells.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> cells, Tone tone = Tone::plain);

  const std::vector<Column>& columns() const { return columns_; }
  std::size_t row_count() const { return rows_.size(); }

  /// {"columns": ["m", …], "rows": [[1024, …], …]}: JSON that says the names of the columns once.
  std::string compact_json() const;

  /// The whole text, ending in a line break. `layout` matters to Format::table alone.
  std::string text(Format format, const TableLayout& layout = {}) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    Tone tone;
  };

  std::string aligned(const TableLayout& layout) const;
  std::string csv() const;
  std::string json() const;
  std::string markdown() const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// A column, and the cell in it of a row.
template <class Row>
struct CellOf {
  Column column;
  std::function<Cell(const Row&)> cell;
};

/// The table of these columns. `tone_of` says how a row looks.
template <class Row>
Table table_of(
    const std::vector<CellOf<Row>>& columns, const std::vector<Row>& rows,
    Tone (*tone_of)(const Row&) = [](const Row&) { return Tone::plain; }) {
  std::vector<Column> headings;
  for (const auto& each : columns) headings.push_back(each.column);
  Table table(std::move(headings));
  for (const Row& row : rows) {
    std::vector<Cell> cells;
    for (const auto& each : columns) cells.push_back(each.cell(row));
    table.add(std::move(cells), tone_of(row));
  }
  return table;
}

/// How a verb prints its results.
struct Output {
  Format format = Format::table;
  ColorMode color = ColorMode::automatic;  ///< automatic: on a terminal without NO_COLOR
  bool wide = false;                       ///< whether tables are whole, however wide the terminal is
};

/// Prints to stdout; of a table for people without rows nothing. Throws Error where that cannot be written.
void print(const Table& table, const Output& output);

}  // namespace mmtune
