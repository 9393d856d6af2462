#include "tuner/text/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "tuner/text/file_descriptor.h"

namespace mmtune {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::chrono::seconds kLongestRead{10};
constexpr mode_t kPermissions = 0777;

FileDescriptor open_file(const std::string& path, int flags) {
  return FileDescriptor(open(path.c_str(), flags | O_CLOEXEC, 0666));
}

[[noreturn]] void refuse_reading(std::string_view what, std::string_view reason) {
  throw UsageError(fmt::format("{} cannot be read: {}; check its path and rights", what, reason));
}

/// Waits until there is something to read, or the end.
void wait_for_text(int file, std::string_view what, std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd waited{file, POLLIN, 0};
  const int ready = left.count() > 0 ? poll(&waited, 1, static_cast<int>(left.count())) : 0;
  if (ready == 0) refuse_reading(what, fmt::format("it did not end within {} s", kLongestRead.count()));
  if (ready < 0 && errno != EINTR) refuse_reading(what, std::strerror(errno));
}

bool is_database(int file) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<char, kMagic.size()> head{};
  const auto got = pread(file, head.data(), head.size(), 0);
  return got == static_cast<ssize_t>(head.size()) && std::string_view(head.data(), head.size()) == kMagic;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// The file that a symbolic link leads to, so that writing leaves the link.
std::string behind_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) throw UsageError(fmt::format("'{}' is a link that leads nowhere; name a file to write to", path));
  return target.string();
}

}  // namespace

void print_out(std::string_view text) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  std::signal(SIGPIPE, before);
  if (!written) {
    throw Error("standard output: cannot be written; check the disk or the program it is piped to");
  }
}

std::string read_text_file(const std::string& path, std::string_view what) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const auto deadline = std::chrono::steady_clock::now() + kLongestRead;
  // Without O_NONBLOCK a pipe that nothing writes to would not even open.
  const FileDescriptor file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file) refuse_reading(what, std::strerror(errno));
  std::string text;
  for (;;) {
    wait_for_text(file.get(), what, deadline);
    const std::size_t have = text.size();
    text.resize(have + kPiece);
    const auto got = ::read(file.get(), text.data() + have, kPiece);
    text.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
    if (got < 0 && errno != EAGAIN && errno != EINTR) refuse_reading(what, std::strerror(errno));
    if (text.size() > kMostBytes) refuse_reading(what, fmt::format("it has more than {} MiB", kMostBytes >> 20));
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

void refuse_writing(const std::string& path) {
  throw Error(fmt::format("'{}' cannot be written: {}; check the folder and the disk", path, std::strerror(errno)));
}

void check_writable(const std::string& path, bool force) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) refuse_writing(path);
    return;
  }
  if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)) return;
  if (!S_ISREG(status.st_mode)) throw UsageError(fmt::format("'{}' is no file; name a file to write to", path));
  if (!force) throw UsageError(fmt::format("'{}' exists; name another file, or overwrite it with --force", path));
  const FileDescriptor file = open_file(path, O_RDONLY);
  if (!file || is_database(file.get())) {
    throw UsageError(fmt::format("'{}' may be a database, which is never overwritten; name another file", path));
  }
}

NewFiles::~NewFiles() {
  for (const Partial& each : partials_) unlink(each.path.c_str());
}

void NewFiles::add(const std::string& path, std::string_view text) {
  check_writable(path, force_);
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    const FileDescriptor file = open_file(path, O_WRONLY);
    if (!file || !write_all(file.get(), text)) refuse_writing(path);
    return;
  }
  const std::string target = behind_links(path);
  const std::string partial = fmt::format("{}.{}.part", target, getpid());
  unlink(partial.c_str());  // A process that was killed may have left one.
  const FileDescriptor file = open_file(partial, O_WRONLY | O_CREAT | O_EXCL);
  if (!file) refuse_writing(path);
  partials_.push_back({partial, target});
  if (exists) fchmod(file.get(), status.st_mode & kPermissions);
  if (!write_all(file.get(), text) || fsync(file.get()) != 0) refuse_writing(path);
}

void NewFiles::publish() {
  while (!partials_.empty()) {
    const auto& [path, target] = partials_.front();
    check_writable(target, force_);  // Another process may have written it since.
    if (rename(path.c_str(), target.c_str()) != 0) refuse_writing(target);
    partials_.erase(partials_.begin());
  }
}

void write_text_file(const std::string& path, std::string_view text, bool force) {
  NewFiles files(force);
  files.add(path, text);
  files.publish();
}

}  // namespace mmtune
