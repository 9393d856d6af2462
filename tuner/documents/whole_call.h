// A product as a first program makes it: memory is allocated, operands are copied to the GPU, the kernel runs once, the
// result is copied back. What the tuner measures instead, a kernel in its steady state: tuner/measure/measure.h.
#pragma once

#include <optional>
#include <vector>

#include "runtime/gpu/launch.h"
#include "tuner/lanes/program.h"

namespace mmtune {

struct WholeTime {
  double kernel_ms = 0;  ///< the median of launches, by events; of long ones that of the only one
  double total_ms = 0;   ///< the first one, by the host's clock, from allocating to the copied result, without loading
};

/// Whole products on the GPU whose context is current, of fp32, fp64 and int32. Not thread safe.
class WholeCalls {
 public:
  WholeCalls();

  /// Throws Error where the result is wrong, OutOfMemoryError, DeviceError.
  WholeTime time(const Program& program);

 private:
  struct Matrices {
    Problem problem;
    std::vector<std::byte> a, b, c;
  };

  void prepare(const Problem& problem);
  CUdeviceptr copied(const DeviceBuffer& buffer, const std::vector<std::byte>& from);
  double launch_ms(const LoadedKernel& kernel, const Program& program, const Operands& operands);

  Stream stream_;
  Event start_, stop_;
  std::optional<Matrices> matrices_;  ///< the matrices of the last problem: the next is often the same
};

}  // namespace mmtune
