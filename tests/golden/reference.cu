// reference  for fp32 nn
#include "mmtune/numeric.cuh"

using InputA = float;
using InputB = float;
using Output = float;
using Accumulator = float;
[[maybe_unused]] constexpr bool BATCHED = false;  // blocks' third coordinates are products
using Scalar = float;

[[maybe_unused]] constexpr int ARCH = 90;  // compute capability compiled for
[[maybe_unused]] constexpr bool TRANSPOSE_A = false;  // A is stored as A[k,m]
[[maybe_unused]] constexpr bool TRANSPOSE_B = false;  // B is stored as B[n,k]
[[maybe_unused]] constexpr int TILE = 32;
[[maybe_unused]] constexpr int THREADS = 256;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 0;  // dynamic shared memory per block
#line 1 "templates/families/reference/kernel.cu"
