#include "runtime/call_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "runtime/dispatch.h"

namespace mmtune {

namespace {

constexpr std::string_view kHeader = "precision,layout,m,n,k,count,seconds\n";

[[noreturn]] void refuse(const std::string& path, std::string_view cause) {
  throw Error(fmt::format("MMTUNE_RECORD={}: {}; name another file", path, cause));
}

/// Closes the file, whatever happens.
class File {
 public:
  explicit File(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (file_ < 0) refuse(path, std::strerror(errno));
  }
  ~File() { close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Others that append wait for this one.
  void lock() const {
    if (flock(file_, LOCK_EX) != 0) refuse(path_, std::strerror(errno));
  }

  std::string beginning() const {
    std::string text(kHeader.size(), '\0');
    const ssize_t bytes = pread(file_, text.data(), text.size(), 0);
    if (bytes < 0) refuse(path_, std::strerror(errno));
    text.resize(static_cast<std::size_t>(bytes));
    return text;
  }

  /// In one piece, unless the disk is full.
  void append(std::string_view text) const {
    const ssize_t bytes = write(file_, text.data(), text.size());
    if (bytes < 0) refuse(path_, std::strerror(errno));
    if (static_cast<std::size_t>(bytes) < text.size()) refuse(path_, "there was no room for all of it");
  }

 private:
  const std::string& path_;
  int file_;
};

/// By shape, the longest time first; those of one time in an order of their own.
std::vector<RecordedCalls> by_shape(const std::vector<RecordedCalls>& calls) {
  std::unordered_map<Problem, RecordedCalls, ProblemHash> shapes;
  for (const RecordedCalls& each : calls) {
    Problem shape = each.problem;
    shape.align = {};
    RecordedCalls& sum = shapes[shape];
    sum.problem = shape;
    sum.count += each.count;
    sum.seconds += each.seconds;
  }
  std::vector<RecordedCalls> rows;
  for (const auto& [shape, row] : shapes) rows.push_back(row);
  const auto rank = [](const RecordedCalls& row) {
    const Problem& p = row.problem;
    return std::tuple(-row.seconds, p.precision, p.layout, p.m, p.n, p.k);
  };
  std::sort(rows.begin(), rows.end(), [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
  return rows;
}

}  // namespace

void append_record(const std::string& path, const std::vector<RecordedCalls>& calls) {
  if (calls.empty()) return;
  const File file(path);
  file.lock();
  const std::string beginning = file.beginning();
  if (!beginning.empty() && beginning != kHeader) refuse(path, "the file is not a record of calls");
  std::string text(beginning.empty() ? kHeader : "");
  for (const RecordedCalls& row : by_shape(calls)) {
    const Problem& p = row.problem;
    text += fmt::format("{},{},{},{},{},{},{:.6g}\n", to_string(p.precision), to_string(p.layout), p.m, p.n, p.k,
                        row.count, row.seconds);
  }
  file.append(text);
}

}  // namespace mmtune
