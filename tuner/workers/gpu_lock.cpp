#include "tuner/workers/gpu_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/log.h"

namespace mmtune {
namespace {

/// Readable for all users: that is all that a lock needs.
FileDescriptor open_lock(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  constexpr mode_t kMode = 0644;
  FileDescriptor file(open(path.c_str(), kFlags));
  if (file || errno != ENOENT) return file;
  file = FileDescriptor(open(path.c_str(), kFlags | O_CREAT | O_EXCL, kMode));
  if (file) {
    fchmod(file.get(), kMode);
  } else if (errno == EEXIST) {
    file = FileDescriptor(open(path.c_str(), kFlags));
  }
  return file;
}

}  // namespace

std::optional<GpuLock> GpuLock::wait(const DeviceChoice& device, const std::function<bool()>& give_up) {
  const std::string path = fmt::format("/tmp/mmtune-{}.lock", device.spec.uuid);
  FileDescriptor file = open_lock(path);
  if (!file) {
    log::warning("{}: cannot be opened: {}; another mmtune may measure on {} at the same time", path,
                 std::strerror(errno), to_string(device));
  }
  bool is_told = false;
  while (file && flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (!is_told) log::warning("another mmtune measures on {} ({}): waiting for its end", to_string(device), path);
    is_told = true;
    if (give_up()) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return GpuLock(std::move(file));
}

}  // namespace mmtune
