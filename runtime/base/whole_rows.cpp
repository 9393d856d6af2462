#include "runtime/base/whole_rows.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace mmtune {
namespace {

/// The longest time that an application that ends waits for another one.
constexpr std::chrono::milliseconds kLockPatience{50};

/// The end that a row gets that was cut short, so that no reader takes its last number for a whole one.
constexpr std::string_view kCutShort = " (cut short)\n";

/// The file of a switch: "MMTUNE_RECORD=calls.csv".
[[noreturn]] void refuse(const std::string& file, std::string_view cause,
                         std::string_view remedy = "name another file") {
  throw Error(fmt::format("{}: {}; {}", file, cause, remedy));
}

/// A file that is closed whatever happens.
class File {
 public:
  File(std::string_view what, const std::string& path)
      : name_(fmt::format("{}={}", what, path)),
        file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (file_ < 0) refuse(name_, std::strerror(errno));
  }
  ~File() { close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Takes the lock of the file, for which others that append wait.
  void lock() const {
    const auto give_up = std::chrono::steady_clock::now() + kLockPatience;
    while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) refuse(name_, std::strerror(errno));
      if (std::chrono::steady_clock::now() >= give_up) {
        refuse(name_, fmt::format("another process kept it locked for {} ms", kLockPatience.count()),
               "let each process name a file of its own");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /// The first bytes, up to so many.
  std::string beginning(std::size_t bytes) const { return read(0, bytes); }

  [[noreturn]] void refuse_other() const { refuse(name_, "the file holds something else"); }

  bool ends_in_a_row() const {
    const off_t bytes = size();
    return bytes > 0 && read(bytes - 1, 1) != "\n";
  }

  void clear() const {
    if (ftruncate(file_, 0) != 0) refuse(name_, std::strerror(errno));
  }

  /// Writes all of it or nothing.
  void append(std::string_view text) const {
    const off_t before = size();
    while (!text.empty()) {
      const ssize_t bytes = write(file_, text.data(), text.size());
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) {
        const int cause = bytes < 0 ? errno : ENOSPC;
        if (ftruncate(file_, before) != 0) refuse(name_, "what did not fit could not be taken back");
        refuse(name_, std::strerror(cause));
      }
      text.remove_prefix(static_cast<std::size_t>(bytes));
    }
  }

 private:
  off_t size() const { return lseek(file_, 0, SEEK_END); }

  std::string read(off_t from, std::size_t most) const {
    std::string text(most, '\0');
    const ssize_t bytes = pread(file_, text.data(), text.size(), from);
    if (bytes < 0) refuse(name_, std::strerror(errno));
    text.resize(static_cast<std::size_t>(bytes));
    return text;
  }

  std::string name_;
  int file_;
};

}  // namespace

void append_whole_rows(std::string_view what, const std::string& path, std::string_view heading,
                       std::string_view rows) {
  const File file(what, path);
  file.lock();
  const std::string first = std::string(heading) + "\n";
  std::string beginning = file.beginning(first.size());
  if (beginning.size() < first.size() && first.starts_with(beginning)) {
    file.clear();  // Nothing is lost of a heading that was cut short.
    beginning.clear();
  }
  if (!beginning.empty() && beginning != first) file.refuse_other();
  const std::string_view before = beginning.empty() ? std::string_view(first) : file.ends_in_a_row() ? kCutShort : "";
  file.append(std::string(before) + std::string(rows));
}

}  // namespace mmtune
