// One measurement at a time on a GPU, also between runs of mmtune.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tuner/devices/device_choice.h"
#include "tuner/text/file_descriptor.h"
#include "tuner/workers/interrupt.h"

namespace mmtune {

/// The right to measure on an installed GPU: a lock of the kernel on /tmp/mmtune-UUID.lock, which ends with the process
/// at the latest. All users of the machine share these files; they are never removed.
class GpuLock {
 public:
  /// Waits while another process has it, with a warning that names that process where it can be seen, until `give_up`:
  /// then nothing. Throws DeviceError after `limit_s` seconds; 0: no limit. Where no such file can be made there is a
  /// warning, and no protection.
  static std::optional<GpuLock> wait(const DeviceChoice& device, double limit_s,
                                     const std::function<bool()>& give_up = InterruptGuard::requested);

  static std::string path(const DeviceChoice& device);

 private:
  explicit GpuLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace mmtune
