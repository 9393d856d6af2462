#include "runtime/call/call_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "runtime/choose/dispatch.h"

namespace mmtune {

namespace {

const std::string kHeader = std::string(kRecordHeading) + "\n";

/// The longest time that an application that ends waits for another one.
constexpr std::chrono::milliseconds kLockPatience{50};

/// The end that a row gets that was cut short, so that no reader takes its last number for a whole one.
constexpr std::string_view kCutShort = " (cut short)\n";

[[noreturn]] void refuse(const std::string& path, std::string_view cause,
                         std::string_view remedy = "name another file") {
  throw Error(fmt::format("MMTUNE_RECORD={}: {}; {}", path, cause, remedy));
}

/// A file that is closed whatever happens.
class File {
 public:
  explicit File(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (file_ < 0) refuse(path, std::strerror(errno));
  }
  ~File() { close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Takes the lock of the file, for which others that append wait.
  void lock() const {
    const auto give_up = std::chrono::steady_clock::now() + kLockPatience;
    while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) refuse(path_, std::strerror(errno));
      if (std::chrono::steady_clock::now() >= give_up) {
        refuse(path_, fmt::format("another process kept it locked for {} ms", kLockPatience.count()),
               "let each process name a file of its own");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::string beginning() const { return read(0, kHeader.size()); }

  bool ends_in_a_row() const {
    const off_t bytes = size();
    return bytes > 0 && read(bytes - 1, 1) != "\n";
  }

  void clear() const {
    if (ftruncate(file_, 0) != 0) refuse(path_, std::strerror(errno));
  }

  /// Writes all of the text or nothing.
  void append(std::string_view text) const {
    const off_t before = size();
    while (!text.empty()) {
      const ssize_t bytes = write(file_, text.data(), text.size());
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) {
        const int cause = bytes < 0 ? errno : ENOSPC;
        if (ftruncate(file_, before) != 0) refuse(path_, "what did not fit could not be taken back");
        refuse(path_, std::strerror(cause));
      }
      text.remove_prefix(static_cast<std::size_t>(bytes));
    }
  }

 private:
  off_t size() const { return lseek(file_, 0, SEEK_END); }

  std::string read(off_t from, std::size_t most) const {
    std::string text(most, '\0');
    const ssize_t bytes = pread(file_, text.data(), text.size(), from);
    if (bytes < 0) refuse(path_, std::strerror(errno));
    text.resize(static_cast<std::size_t>(bytes));
    return text;
  }

  const std::string& path_;
  int file_;
};

/// Puts the longest time first; calls of equal times are in the order of their shapes.
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
  std::string beginning = file.beginning();
  if (beginning.size() < kHeader.size() && kHeader.starts_with(beginning)) {
    file.clear();  // a heading that was cut short holds no calls
    beginning.clear();
  }
  if (!beginning.empty() && beginning != kHeader) refuse(path, "the file is not a record of calls");
  std::string text(beginning.empty() ? kHeader : file.ends_in_a_row() ? kCutShort : "");
  for (const RecordedCalls& row : by_shape(calls)) {
    const Problem& p = row.problem;
    text += fmt::format("{},{},{},{},{},{},{:.6g}\n", to_string(p.precision), to_string(p.layout), p.m, p.n, p.k,
                        row.count, row.seconds);
  }
  file.append(text);
}

}  // namespace mmtune
