#include "tuner/text/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "runtime/env.h"
#include "runtime/printable.h"
#include "tuner/text/files.h"

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
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<Real>(&cell); real && std::isfinite(real->value)) {
    return fmt::format("{:.{}f}", real->value, real->digits);
  }
  return "";
}

/// Columns that UTF-8 text takes, for text without wide characters.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == Align::right ? blanks + text : text + blanks;
}

/// RFC 4180: a field with a comma, a quote or a line break is quoted, quotes inside are doubled.
std::string csv_field(const std::string& cell) {
  const std::string text = printable_lines(cell);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string markdown_field(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// RFC 8259. What acts on a terminal is escaped too, and what is no UTF-8 replaced, since JSON must be.
std::string json_string(std::string_view text) {
  constexpr char32_t kReplacement = 0xfffd;
  std::string quoted = "\"";
  while (!text.empty()) {
    const Character first = first_character(text);
    if (first.value == '"' || first.value == '\\') quoted += '\\';
    if (first.valid && !is_control(first.value)) {
      quoted += text.substr(0, first.bytes);
    } else {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(first.valid ? first.value : kReplacement));
    }
    text.remove_prefix(first.bytes);
  }
  return quoted + '"';
}

std::string json_value(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return json_string(*text);
  const auto number = cell_text(cell);
  return number.empty() ? "null" : number;
}

/// The fields of one line, each followed by `separator` but the last.
template <class Range, class Field>
std::string joined(const Range& range, std::string_view separator, Field field) {
  std::string line;
  for (std::size_t i = 0; i < range.size(); ++i) {
    if (i > 0) line += separator;
    line += field(range[i], i);
  }
  return line;
}

}  // namespace

void Table::add(std::vector<Cell> cells, Tone tone) {
  assert(cells.size() == columns_.size());
  rows_.push_back({std::move(cells), tone});
}

std::string Table::text(Format format, bool color) const {
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
  return aligned(color);
}

std::string Table::aligned(bool color) const {
  std::vector<std::size_t> widths;
  for (const auto& column : columns_) widths.push_back(width_of(column.name));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(printable(cell_text(row.cells[i]))));
    }
  }
  const auto line = [&](const auto& range, std::string_view style, auto field) {
    auto text = joined(range, "  ", [&](const auto& item, std::size_t i) {
      return padded(printable(field(item)), widths[i], columns_[i].align);
    });
    text.erase(text.find_last_not_of(' ') + 1);
    return color && !style.empty() ? fmt::format("{}{}{}\n", style, text, kReset) : text + '\n';
  };
  auto text = line(columns_, kBold, [](const Column& column) { return column.name; });
  for (const auto& row : rows_) text += line(row.cells, escape(row.tone), cell_text);
  return text;
}

std::string Table::csv() const {
  auto text = joined(columns_, ",", [](const Column& column, std::size_t) { return csv_field(column.name); }) + '\n';
  for (const auto& row : rows_) {
    text += joined(row.cells, ",", [](const Cell& cell, std::size_t) { return csv_field(cell_text(cell)); }) + '\n';
  }
  return text;
}

std::string Table::json() const {
  const auto object = [this](const Row& row, std::size_t) {
    return fmt::format("  {{\n{}\n  }}", joined(row.cells, ",\n", [this](const Cell& cell, std::size_t i) {
                         return fmt::format("    {}: {}", json_string(columns_[i].name), json_value(cell));
                       }));
  };
  return rows_.empty() ? "[]\n" : fmt::format("[\n{}\n]\n", joined(rows_, ",\n", object));
}

std::string Table::markdown() const {
  const auto line = [](const std::string& fields) { return "| " + fields + " |\n"; };
  auto text =
      line(joined(columns_, " | ", [](const Column& column, std::size_t) { return markdown_field(column.name); }));
  text += line(joined(columns_, " | ",
                      [](const Column& column, std::size_t) { return column.align == Align::right ? "---:" : "---"; }));
  for (const auto& row : rows_) {
    text +=
        line(joined(row.cells, " | ", [](const Cell& cell, std::size_t) { return markdown_field(cell_text(cell)); }));
  }
  return text;
}

void print(const Table& table, Format format, ColorMode color) {
  const bool automatic = isatty(STDOUT_FILENO) == 1 && !env::get("NO_COLOR");
  const bool colored = color == ColorMode::always || (color == ColorMode::automatic && automatic);
  print_out(table.text(format, colored));
}

}  // namespace mmtune
