// The CUDA context that a call of the library works in.
#pragma once

#include <atomic>
#include <mutex>

#include "runtime/gpu/driver.h"

namespace mmtune {

/// A device's primary context, which the CUDA runtime uses too; retained when it is first asked for. Thread safe.
class PrimaryContext {
 public:
  explicit PrimaryContext(CUdevice device) : device_(device) {}
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CUcontext get();
  /// Null before the first request.
  CUcontext if_retained() const;

 private:
  CUdevice device_;
  std::mutex mutex_;                          ///< the lock for retaining it
  std::atomic<CUcontext> context_ = nullptr;  ///< null before it is retained
};

/// A context that is current while this lives.
class CurrentContext {
 public:
  /// The calling thread's; where it has none, the primary one.
  explicit CurrentContext(PrimaryContext& primary);
  /// This one, for destructors; null for the calling thread's. Where the driver refuses it, what is current stays so.
  explicit CurrentContext(CUcontext context) noexcept;
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  /// The context that was given or found.
  CUcontext get() const { return context_; }

 private:
  CUcontext context_ = nullptr;
  CUcontext before_ = nullptr;
  bool restore_ = false;
};

/// Throws UsageError unless the current context belongs to this device.
void require_context_of(CUdevice device);

}  // namespace mmtune
