// Whether kernels that state the same summation give the same bits, on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/gpu/nvrtc.h"
#include "tuner/measure/check_kernels.h"
#include "tuner/text/report.h"
#include "tuner/tune/preparation.h"

namespace mmtune {

/// What one kernel made of a product.
struct KernelBitsRow {
  Problem problem;
  std::string values;  ///< "uniform", which have both signs, or "positive"
  std::string family;
  std::string config;
  std::string summation;
  std::uint64_t bits = 0;  ///< a fingerprint of C
  bool differs = false;    ///< whether the first kernel of this summation had other bits
};

/// Runs up to `count` kernels of every family that competes, for the product as it is and as an invariant one, of those
/// that the model ranks first and that state a summation. The problem is packed. The context must be current. Throws
/// Error, OutOfMemoryError, DeviceError.
std::vector<KernelBitsRow> compare_kernels(const Preparation& preparation, const Nvrtc& nvrtc,
                                           const CheckKernels& kernels, const Problem& problem, std::size_t count);

/// CSV and JSON: precision,layout,m,n,k,values,family,config,summation,bits,differs.
Table kernel_bits_table(const std::vector<KernelBitsRow>& rows);

}  // namespace mmtune
