// Device memory that kernels need besides their operands: one buffer for each stream.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/gpu/driver.h"

namespace mmtune {

/// Thread safe. Buffers grow and are never given back before this ends, since a graph may go on using them; all must
/// have finished by then.
class Workspaces {
 private:
  struct Slot {
    std::mutex mutex;
    std::vector<DeviceBuffer> buffers;  ///< the buffers, ascending; the last one is in use
  };

 public:
  /// A stream's buffer. While this lives no other thread gets it, so that steps that share a workspace stay together.
  class Lease {
   public:
    Lease(Slot& slot, CUstream stream, std::size_t bytes);
    CUdeviceptr address() const { return slot_.buffers.back().address(); }

   private:
    Slot& slot_;
    std::unique_lock<std::mutex> lock_;
  };

  /// A workspace of at least `bytes`, which are over 0, for the current context. Throws OutOfMemoryError, or Error if
  /// it has to allocate while the stream is captured.
  Lease lease(CUcontext context, CUstream stream, std::size_t bytes);

 private:
  /// The default stream per thread has one handle for all threads.
  using Key = std::tuple<CUcontext, CUstream, std::thread::id>;

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Slot>> slots_;
};

}  // namespace mmtune
