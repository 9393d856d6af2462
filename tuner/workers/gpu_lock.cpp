#include "tuner/workers/gpu_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "runtime/base/log.h"

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

/// "process 4711 (python3)", from the kernel's list of locks: those of other containers are not there, and their
/// processes have no number here.
std::string holder_of(const FileDescriptor& file) {
  struct stat wanted {};
  fstat(file.get(), &wanted);
  const std::string place = fmt::format("{:02x}:{:02x}:{}", major(wanted.st_dev), minor(wanted.st_dev), wanted.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, is_advisory, mode, where;
    int process = 0;
    if (!(words >> number >> kind >> is_advisory >> mode >> process >> where)) continue;
    if (kind != "FLOCK" || where != place || process <= 0) continue;
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", process)), name);
    return fmt::format("process {} ({})", process, name);
  }
  return "another process, which cannot be seen from here,";
}

}  // namespace

std::string GpuLock::path(const DeviceChoice& device) { return fmt::format("/tmp/mmtune-{}.lock", device.spec.uuid); }

std::optional<GpuLock> GpuLock::wait(const DeviceChoice& device, double limit_s, const std::function<bool()>& give_up) {
  const auto start = std::chrono::steady_clock::now();
  const std::string path = GpuLock::path(device);
  FileDescriptor file = open_lock(path);
  if (!file) {
    log::warning("{}: cannot be opened: {}; another mmtune may measure on {} at the same time", path,
                 std::strerror(errno), to_string(device));
  }
  bool is_told = false;
  while (file && flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (!is_told) log::warning("{} has the lock of {} ({}): waiting for it", holder_of(file), to_string(device), path);
    is_told = true;
    if (give_up()) return std::nullopt;
    if (limit_s > 0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > limit_s) {
      throw DeviceError(
          fmt::format("{}: {} still has its lock {} after {:g} s; end that process, or allow more with --wait",
                      to_string(device), holder_of(file), path, limit_s));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return GpuLock(std::move(file));
}

}  // namespace mmtune
