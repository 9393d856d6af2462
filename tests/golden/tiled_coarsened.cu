// tiled_coarsened TILE=16 CM=4 CN=4 UNROLL=8 for fp32 nn
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
[[maybe_unused]] constexpr int TILE = 16;  // threads of a block along x and y; steps along k of a tile
[[maybe_unused]] constexpr int CM = 4;  // tiles of C per block along the rows
[[maybe_unused]] constexpr int CN = 4;  // tiles of C per block along the columns
[[maybe_unused]] constexpr int UNROLL = 8;  // steps along k per turn of the inner loop
[[maybe_unused]] constexpr int BM = 64;
[[maybe_unused]] constexpr int BN = 64;
[[maybe_unused]] constexpr int THREADS = 256;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 8192;  // dynamic shared memory per block
#line 1 "templates/families/tiled_coarsened/kernel.cu"
