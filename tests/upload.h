// Test data for the GPU.
#pragma once

#include <cstddef>

#include "runtime/gpu/driver.h"

namespace mmtune::test {

/// Copies to the GPU, where every stream finds the data afterwards. cuMemcpyHtoD alone may return before pageable
/// memory has arrived, and streams that do not wait for the default one then read what was there before (CUDA driver
/// API, API synchronization behavior).
inline void upload(CUdeviceptr target, const void* data, std::size_t bytes) {
  MMTUNE_CUDA(cuMemcpyHtoD(target, data, bytes));
  MMTUNE_CUDA(cuCtxSynchronize());
}

}  // namespace mmtune::test
