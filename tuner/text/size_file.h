// Files of sizes: lines of cells with commas between, and above them a line that may name the columns.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mmtune {

/// Empty lines and those that begin with # are left out. The first of the others is the heading if it begins with a
/// letter.
class SizeFile {
 public:
  struct Row {
    std::string place;  ///< "sizes.csv:7", for messages
    std::vector<std::string_view> cells;
  };

  /// Throws what read_text_file() throws.
  explicit SizeFile(const std::string& path);
  /// `what` is how messages about reading name it.
  SizeFile(const std::string& path, std::string_view what);
  SizeFile(const SizeFile&) = delete;  // cells are parts of the text
  SizeFile& operator=(const SizeFile&) = delete;

  bool has_heading() const { return !heading_.empty(); }

  /// Where the heading has a column of this name.
  std::optional<std::size_t> column(std::string_view name) const;

  /// Where the heading has the columns m, n and k; nothing if one is missing.
  std::optional<std::array<std::size_t, 3>> extents() const;

  /// One row after the other; nothing at the end.
  std::optional<Row> next();

 private:
  std::string_view next_line();

  std::string path_;
  std::string text_;
  std::string_view rest_;   ///< what follows the current line
  int number_ = 0;          ///< of the current line
  std::string_view first_;  ///< the first row, until it is asked for
  std::vector<std::string_view> heading_;
};

}  // namespace mmtune
