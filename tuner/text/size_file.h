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
///
/// A record of calls, which the library appends to (runtime/call/call_record.h), may have been damaged by a full disk
/// or a process that was killed: of such a file next() leaves out rows with too few or too many cells and one without
/// the end of its line, whose last number may be cut short. A warning at the end names the first fault and how
/// many rows were left out.
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
  SizeFile(const SizeFile&) = delete;  // Cells are parts of the text.
  SizeFile& operator=(const SizeFile&) = delete;

  bool has_heading() const { return !heading_.empty(); }

  /// The position of the column of this name, where the heading has one.
  std::optional<std::size_t> column(std::string_view name) const;

  /// The places at which the heading has the columns m, n and k; nothing if one is missing.
  std::optional<std::array<std::size_t, 3>> extents() const;

  bool is_record() const { return is_record_; }

  /// The next row; nothing at the end.
  std::optional<Row> next();

  /// The row that next() gave has another fault, and counts among those left out.
  void leave_out(std::string fault);

 private:
  std::string_view next_line();
  bool is_whole(const Row& row) const;
  void say_what_was_left_out() const;

  std::string path_;
  std::string text_;
  std::string_view rest_;   ///< the text that follows the current line
  int number_ = 0;          ///< the number of the current line
  std::string_view first_;  ///< the first row, until it is asked for
  std::vector<std::string_view> heading_;
  bool is_record_ = false;
  bool is_ended_ = true;      ///< whether the current line ends by a line break
  std::size_t left_out_ = 0;  ///< the number of rows that were left out
  std::string first_fault_;   ///< that of the first of them, with its place
};

}  // namespace mmtune
