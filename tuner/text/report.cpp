#include "tuner/text/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>

#include "runtime/base/env.h"
#include "runtime/base/printable.h"
#include "templates/base/joined.h"
#include "tuner/text/files.h"
#include "tuner/text/json.h"
#include "tuner/text/terminal.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

constexpr std::string_view kReset = "\033[0m";
constexpr std::string_view kBold = "\033[1m";

std::string_view escape(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "\033[32m";
    case Tone::caution:
      return "\033[33m";
    case Tone::bad:
      return "\033[31m";
    case Tone::plain:
      break;
  }
  return "";
}

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value())) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&cell.value())) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<Cell::Real>(&cell.value()); real && std::isfinite(real->value)) {
    return fmt::format("{:.{}f}", real->value, real->digits);
  }
  return "";
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == Align::right ? blanks + text : text + blanks;
}

/// A column of a table for people: its heading, then its cells.
struct AlignedColumn {
  std::vector<std::string> cells;
  std::size_t width;
  Column column;
};

constexpr std::string_view kGap = "  ";

/// The width of the longest line of a text, or of its longest word.
std::size_t longest(std::string_view text, char separator) {
  std::size_t width = 0;
  for (const auto piece : pieces_of(text, separator)) width = std::max(width, width_of(piece));
  return width;
}

/// The least width of a column: a heading is broken at its blanks, cells only of a column that wraps, down to
/// `wrapped` columns, or more that a word needs.
std::size_t least_width(const AlignedColumn& column, std::size_t wrapped) {
  constexpr std::size_t kWord = 10;  // A longer word is broken in a column that wraps.
  std::size_t cells = 0, word = wrapped, heading = longest(column.cells.front(), ' ');
  const bool wraps = column.column.fit == Fit::wraps || column.column.fit == Fit::shared;
  for (std::size_t i = 1; i < column.cells.size(); ++i) {
    cells = std::max(cells, longest(column.cells[i], '\n'));
    if (wraps) word = std::max(word, std::min(longest(column.cells[i], ' '), kWord));
  }
  if (wraps) {
    cells = std::min(cells, word);
    heading = std::min(heading, kWord);
  }
  return std::min(column.width, std::max(cells, heading));
}

template <class WidthOf>
std::size_t total_width(const std::vector<AlignedColumn>& columns, const WidthOf& width_of_column) {
  std::size_t total = columns.empty() ? 0 : kGap.size() * (columns.size() - 1);
  for (const AlignedColumn& each : columns) total += width_of_column(each);
  return total;
}

/// Makes the columns that can be narrowed most narrower, until the table has this width or no column can.
void narrow(std::vector<AlignedColumn>& columns, std::size_t width, std::size_t wrapped) {
  std::vector<std::size_t> least;
  for (const AlignedColumn& each : columns) least.push_back(least_width(each, wrapped));
  for (std::size_t total = total_width(columns, [](const auto& each) { return each.width; }); total > width; --total) {
    std::size_t widest = 0;
    for (std::size_t i = 1; i < columns.size(); ++i) {
      if (columns[i].width - least[i] > columns[widest].width - least[widest]) widest = i;
    }
    if (columns[widest].width == least[widest]) return;
    --columns[widest].width;
  }
}

/// Fits the table into the width: spare columns leave it until what wraps is easy to read, then that wraps more.
/// Returns the names of those that left.
std::vector<std::string> fit(std::vector<AlignedColumn>& columns, std::size_t width) {
  constexpr std::size_t kReadable = 20, kLeast = 8;
  std::vector<std::string> left;
  const auto is_spare = [](const AlignedColumn& each) { return each.column.fit == Fit::spare; };
  const auto readable = [](const AlignedColumn& each) { return least_width(each, kReadable); };
  while (total_width(columns, readable) > width) {
    const auto last = std::find_if(columns.rbegin(), columns.rend(), is_spare);
    if (last == columns.rend()) break;
    left.insert(left.begin(), last->column.name);
    columns.erase(std::next(last).base());
  }
  narrow(columns, width, kReadable);
  narrow(columns, width, kLeast);
  return left;
}

/// Takes the columns that wrap out of the table where it does not fit otherwise: they stand below each row.
std::vector<AlignedColumn> take_below(std::vector<AlignedColumn>& columns, std::size_t width) {
  std::vector<AlignedColumn> narrowest = columns;
  fit(narrowest, width);
  if (total_width(narrowest, [](const auto& each) { return each.width; }) <= width) return {};
  const auto stays = [](const AlignedColumn& each) { return each.column.fit != Fit::wraps; };
  const auto first = std::stable_partition(columns.begin(), columns.end(), stays);
  std::vector<AlignedColumn> below(first, columns.end());
  columns.erase(first, columns.end());
  return below;
}

/// "    config: BM=32 BN=64 …": what stands below row `row`, in lines of this width.
std::vector<std::string> lines_below(const std::vector<AlignedColumn>& below, std::size_t row, std::size_t width) {
  constexpr std::size_t kMargin = 4;
  std::vector<std::string> lines;
  for (const AlignedColumn& each : below) {
    if (row == 0 || each.cells[row].empty()) continue;
    const std::string text = fmt::format("{}: {}", each.cells.front(), each.cells[row]);
    for (const auto line : pieces_of(text, '\n')) {
      for (const std::string& piece : wrapped(line, width - std::min(kMargin, width - 1))) {
        lines.push_back(std::string(kMargin, ' ') + piece);
      }
    }
  }
  return lines;
}

/// The lines of row `row`: 0 is the heading.
std::vector<std::string> lines_of(const std::vector<AlignedColumn>& columns, std::size_t row) {
  std::vector<std::vector<std::string>> pieces;
  std::size_t count = 1;
  for (const AlignedColumn& each : columns) {
    std::vector<std::string>& lines = pieces.emplace_back();
    for (const auto line : pieces_of(each.cells[row], '\n')) {
      for (std::string& piece : wrapped(line, each.width)) lines.push_back(std::move(piece));
    }
    count = std::max(count, pieces.back().size());
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i) {
    std::string line = joined(columns, kGap, [&](const AlignedColumn& each, std::size_t column) {
      const std::string piece = i < pieces[column].size() ? pieces[column][i] : "";
      return padded(piece, each.width, each.column.align);
    });
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

/// RFC 4180: a field with a comma, a quote or a line break is quoted, quotes inside are doubled.
std::string csv_field(const std::string& cell) {
  std::string text = printable_lines(cell);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return fmt::format("\"{}\"", replaced(text, {{'"', "\"\""}}));
}

std::string markdown_field(const std::string& text) { return replaced(printable(text), {{'|', "\\|"}}); }

std::string json_value(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value())) return json_string(*text);
  const auto number = cell_text(cell);
  return number.empty() ? "null" : number;
}

}  // namespace

void Table::add(std::vector<Cell> cells, Tone tone) {
  assert(cells.size() == columns_.size());
  rows_.push_back({std::move(cells), tone});
}

std::string Table::text(Format format, const TableLayout& layout) const {
  switch (format) {
    case Format::csv:
      return csv();
    case Format::json:
      return json();
    case Format::md:
      return markdown();
    case Format::table:
      break;
  }
  return aligned(layout);
}

std::string Table::aligned(const TableLayout& layout) const {
  std::vector<AlignedColumn> shown;
  std::vector<std::string> shared;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string first = rows_.empty() ? "" : cell_text(rows_.front().cells[i]);
    const auto is_first = [&](const Row& row) { return cell_text(row.cells[i]) == first; };
    if (!layout.wide && !rows_.empty() && (first.empty() || columns_[i].fit == Fit::shared) &&
        std::all_of(rows_.begin(), rows_.end(), is_first)) {
      if (!first.empty()) shared.push_back(printable(first));
      continue;
    }
    AlignedColumn column{{printable(columns_[i].name)}, 0, columns_[i]};
    auto* const text_of = columns_[i].fit == Fit::wraps ? printable_lines : printable;
    for (const Row& row : rows_) column.cells.push_back(text_of(cell_text(row.cells[i])));
    for (const std::string& cell : column.cells) column.width = std::max(column.width, longest(cell, '\n'));
    shown.push_back(std::move(column));
  }
  const auto below = layout.width > 0 ? take_below(shown, layout.width) : std::vector<AlignedColumn>{};
  const auto left = layout.width > 0 ? fit(shown, layout.width) : std::vector<std::string>{};
  auto text = shared.empty() ? "" : fmt::format("{}\n", fmt::join(shared, ", "));
  for (std::size_t i = 0; i <= rows_.size(); ++i) {
    const std::string_view style = i == 0 ? kBold : escape(rows_[i - 1].tone);
    std::vector<std::string> lines = lines_of(shown, i);
    for (std::string& line : lines_below(below, i, layout.width)) lines.push_back(std::move(line));
    for (const std::string& line : lines) {
      text += layout.color && !style.empty() ? fmt::format("{}{}{}\n", style, line, kReset) : line + '\n';
    }
  }
  if (!left.empty()) {
    const std::string note = fmt::format("(--wide also shows {})", fmt::join(left, ", "));
    text += fmt::format("{}\n", fmt::join(wrapped(note, layout.width), "\n"));
  }
  return text;
}

std::string Table::csv() const {
  auto text = joined(columns_, ",", [](const Column& column) { return csv_field(column.name); }) + '\n';
  for (const auto& row : rows_) {
    text += joined(row.cells, ",", [](const Cell& cell) { return csv_field(cell_text(cell)); }) + '\n';
  }
  return text;
}

std::string Table::json() const {
  const auto object = [this](const Row& row) {
    return fmt::format("  {{\n{}\n  }}", joined(row.cells, ",\n", [this](const Cell& cell, std::size_t i) {
                         return fmt::format("    {}: {}", json_string(columns_[i].name), json_value(cell));
                       }));
  };
  return rows_.empty() ? "[]\n" : fmt::format("[\n{}\n]\n", joined(rows_, ",\n", object));
}

std::string Table::compact_json() const {
  const auto name = [](const Column& column) { return json_string(column.name); };
  const auto value = [](const Cell& cell) { return json_value(cell); };
  const auto list = [&](const Row& row) { return fmt::format("[{}]", joined(row.cells, ",", value)); };
  return fmt::format("{{\"columns\": [{}], \"rows\": [{}]}}", joined(columns_, ",", name), joined(rows_, ",\n", list));
}

std::string Table::markdown() const {
  const auto line = [](const std::string& fields) { return "| " + fields + " |\n"; };
  auto text = line(joined(columns_, " | ", [](const Column& column) { return markdown_field(column.name); }));
  text +=
      line(joined(columns_, " | ", [](const Column& column) { return column.align == Align::right ? "---:" : "---"; }));
  for (const auto& row : rows_) {
    text += line(joined(row.cells, " | ", [](const Cell& cell) { return markdown_field(cell_text(cell)); }));
  }
  return text;
}

void print(const Table& table, const Output& output) {
  if (output.format == Format::table && table.row_count() == 0) return;
  const bool automatic = isatty(STDOUT_FILENO) == 1 && !env::get("NO_COLOR");
  const bool colored = output.color == ColorMode::always || (output.color == ColorMode::automatic && automatic);
  const std::size_t width = output.wide ? 0 : terminal_columns(STDOUT_FILENO);
  print_out(table.text(output.format, {colored, output.wide, width}));
}

}  // namespace mmtune
