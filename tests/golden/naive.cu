// naive MAPPING=2 BX=32 BY=8 COARSE=1 UNROLL=4 for fp32 nn
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
[[maybe_unused]] constexpr int MAPPING = 2;  // which elements of C a block's threads have: coalesced
[[maybe_unused]] constexpr int BX = 32;  // threads of a block along x
[[maybe_unused]] constexpr int BY = 8;  // threads of a block along y
[[maybe_unused]] constexpr int COARSE = 1;  // rows and columns of a thread's square of C
[[maybe_unused]] constexpr int UNROLL = 4;  // steps along k per turn of the loop
[[maybe_unused]] constexpr int BM = 8;
[[maybe_unused]] constexpr int BN = 32;
[[maybe_unused]] constexpr int THREADS = 256;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 0;  // dynamic shared memory per block
#line 1 "templates/families/naive/kernel.cu"
