// The memory of GPU 0, to tell whether a run gave all of it back.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <thread>

#include "runtime/gpu/driver.h"

namespace mmtune::test {

/// Holds a context, so that what it costs counts before and after. Throws DeviceError where there is no GPU.
class GpuMemory {
 public:
  GpuMemory() : gpu_(0), free_before_(free_bytes()) {}

  /// All that was free is free again, or soon will be.
  void expect_given_back() const {
    constexpr std::size_t kNoise = std::size_t{64} << 20;  // what a driver keeps for itself
    constexpr int kMost_ms = 20'000;
    for (int waited_ms = 0; free_bytes() + kNoise < free_before_; waited_ms += 10) {
      ASSERT_LT(waited_ms, kMost_ms) << "memory of the GPU is still in use";
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 private:
  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    MMTUNE_CUDA(cuMemGetInfo(&free, &total));
    return free;
  }

  Gpu gpu_;
  std::size_t free_before_;
};

}  // namespace mmtune::test
