// A driver that pretends to be libcuda with one H200, whose memory is that of the host and whose kernels are a plain
// loop: programs that link it find it instead of a real one. Enough for the library; all else is "not supported".
#pragma once

#include <atomic>
#include <string>

#include "templates/problem.h"

namespace mmtune::test {

/// What tests see and set.
struct FakeCuda {
  std::atomic<int> launches = 0;
  std::atomic<int> allocations = 0;      ///< of device memory
  std::atomic<int> loaded_programs = 0;  ///< so far
  std::atomic<bool> is_capturing = false;
  std::atomic<void*> last_stream = nullptr;
};

FakeCuda& fake_cuda();

/// A program that the fake runs like the family naive; images of other programs load and compute nothing.
std::string fake_program(Precision precision, Layout layout);

}  // namespace mmtune::test
