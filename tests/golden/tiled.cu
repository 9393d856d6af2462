// tiled TILE=16 UNROLL=16 for fp32 nn
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
[[maybe_unused]] constexpr int TILE = 16;  // rows, columns and steps along k of a tile
[[maybe_unused]] constexpr int UNROLL = 16;  // steps along k per turn of the inner loop
[[maybe_unused]] constexpr int THREADS = 256;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 2048;  // dynamic shared memory per block
#line 1 "templates/families/tiled/kernel.cu"
