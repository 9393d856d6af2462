#include "tuner/text/size_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/call/call_record.h"
#include "templates/base/letters.h"
#include "tuner/text/files.h"
#include "tuner/text/text.h"

namespace mmtune {

SizeFile::SizeFile(const std::string& path) : SizeFile(path, fmt::format("size file '@{}'", excerpt(path))) {}

SizeFile::SizeFile(const std::string& path, std::string_view what)
    : path_(path), text_(read_text_file(path, what)), rest_(text_) {
  const std::string_view line = next_line();
  const bool is_heading = !line.empty() && is_letter(line.front());
  if (is_heading) {
    heading_ = split(line, ',');
    is_record_ = line == kRecordHeading;
  } else {
    first_ = line;
  }
}

std::optional<SizeFile::Row> SizeFile::next() {
  while (true) {
    const std::string_view first = std::exchange(first_, {});
    const std::string_view line = first.empty() ? next_line() : first;
    if (line.empty()) {
      say_what_was_left_out();
      return std::nullopt;
    }
    Row row{fmt::format("{}:{}", path_, number_), split(line, ',')};
    if (is_whole(row)) return row;
    leave_out(fmt::format("size file {}: a damaged row", row.place));
  }
}

bool SizeFile::is_whole(const Row& row) const {
  return !is_record_ || (is_ended_ && row.cells.size() == heading_.size());
}

void SizeFile::leave_out(std::string fault) {
  if (left_out_++ == 0) first_fault_ = std::move(fault);
}

void SizeFile::say_what_was_left_out() const {
  if (left_out_ == 0) return;
  log::warning("{}; left out{}; correct or remove it to lose this warning", first_fault_,
               left_out_ == 1 ? "" : fmt::format(" like {} more", left_out_ - 1));
}

/// Empty at the end.
std::string_view SizeFile::next_line() {
  while (!rest_.empty()) {
    const std::string_view whole = rest_.substr(0, rest_.find('\n'));
    is_ended_ = whole.size() < rest_.size();
    rest_.remove_prefix(std::min(rest_.size(), whole.size() + 1));
    ++number_;
    const std::string_view line = trim(whole);
    if (!line.empty() && line.front() != '#') return line;
  }
  return {};
}

std::optional<std::size_t> SizeFile::column(std::string_view name) const {
  const auto found = std::find(heading_.begin(), heading_.end(), name);
  if (found == heading_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - heading_.begin());
}

std::optional<std::array<std::size_t, 3>> SizeFile::extents() const {
  const auto m = column("m"), n = column("n"), k = column("k");
  if (!m || !n || !k) return std::nullopt;
  return std::array{*m, *n, *k};
}

}  // namespace mmtune
