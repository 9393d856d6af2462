// Device memory that kernels need besides their operands: one buffer for each stream, and another for what it captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/gpu/driver.h"

namespace mmtune {

/// Thread safe. Buffers grow. They are given back when this ends, by when all must have finished; those of a stream
/// that was destroyed earlier, once its handle is another stream's. What is captured has buffers of its own, as a graph
/// may run at any time, in any stream: graphs that were captured from streams of one handle share theirs.
class Workspaces {
  struct Slot {
    std::mutex mutex;
    std::vector<DeviceBuffer> buffers;  ///< the buffers, ascending; the last one is in use
    std::uint64_t stream = 0;           ///< the stream that has them, by what no other stream has
  };

 public:
  /// A stream's buffer. While this lives no other thread gets it, so that steps that share a workspace stay together.
  class Lease {
   public:
    Lease(Workspaces& all, Slot& slot, std::uint64_t stream, std::size_t bytes);
    CUdeviceptr address() const { return slot_.buffers.back().address(); }

   private:
    Slot& slot_;
    std::unique_lock<std::mutex> lock_;
  };

  /// A workspace of at least `bytes`, which are over 0, for the current context. Throws OutOfMemoryError.
  Lease lease(CUcontext context, CUstream stream, std::size_t bytes);
  /// Allocates what lease() will need for the stream, whether it is captured then or not. Throws as lease().
  void prepare(CUcontext context, CUstream stream, std::size_t bytes);

 private:
  Lease captured(CUcontext context, CUstream stream, std::size_t bytes);
  Slot& slot(CUcontext context, CUstream stream, bool is_captured);
  /// The default stream per thread has one handle for all threads. True is for what the stream captures.
  using Key = std::tuple<CUcontext, CUstream, std::thread::id, bool>;

  /// Takes the buffers of a stream that was destroyed, whose work may still run. To free them waits for that, so it is
  /// done for many at once.
  void retire(Slot& slot);

  std::mutex mutex_;  ///< the lock of what follows; taken after that of a slot
  std::map<Key, std::unique_ptr<Slot>> slots_;
  std::vector<DeviceBuffer> retired_;  ///< the buffers of destroyed streams
  std::size_t retired_bytes_ = 0;
};

}  // namespace mmtune
