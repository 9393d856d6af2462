// Device memory that kernels need besides their operands: one buffer for each stream.
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
/// that was destroyed earlier, once its handle is another stream's, but for what a graph may go on using.
class Workspaces {
 public:
  Workspaces() = default;
  ~Workspaces();
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

 private:
  struct Slot {
    std::mutex mutex;
    std::vector<DeviceBuffer> buffers;  ///< the buffers, ascending; the last one is in use
    std::uint64_t stream = 0;           ///< the stream that has them, by what no other stream has
    bool is_in_graphs = false;          ///< whether graphs may use them
  };

 public:
  /// A stream's buffer. While this lives no other thread gets it, so that steps that share a workspace stay together.
  class Lease {
   public:
    Lease(Workspaces& all, Slot& slot, CUstream stream, std::size_t bytes);
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

  /// Takes the buffers of a stream that was destroyed, whose work may still run. To free them waits for that, so it is
  /// done for many at once.
  void retire(Slot& slot, bool may_free);

  std::mutex mutex_;  ///< the lock of what follows; taken after that of a slot
  std::map<Key, std::unique_ptr<Slot>> slots_;
  std::vector<DeviceBuffer> in_graphs_, retired_;  ///< buffers of destroyed streams
  std::size_t retired_bytes_ = 0;
};

}  // namespace mmtune
