// skinny SIDE=0 FEW=16 OWN=1 UNROLL=4 WARPS=8 WARPS_K=8 MIN_BLOCKS=1 SPLIT=1 NARROW=0 STAGES=1 LANES=32 for fp32 nn
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
[[maybe_unused]] constexpr int SIDE = 0;  // short side of C: rows
[[maybe_unused]] constexpr int FEW = 16;  // positions on the short side per thread
[[maybe_unused]] constexpr int OWN = 1;  // vectors per thread along the long side
[[maybe_unused]] constexpr int UNROLL = 4;  // vectors per thread along k
[[maybe_unused]] constexpr int WARPS = 8;  // warps per block
[[maybe_unused]] constexpr int WARPS_K = 8;  // warps of a block that share the steps along k
[[maybe_unused]] constexpr int MIN_BLOCKS = 1;  // blocks per SM that the registers must allow
[[maybe_unused]] constexpr int SPLIT = 1;  // blocks that share one tile's k
[[maybe_unused]] constexpr int NARROW = 0;  // where the operand of the short side passes: shared
[[maybe_unused]] constexpr int STAGES = 1;  // in shared memory, by asynchronous copies; 1: in registers
[[maybe_unused]] constexpr int LANES = 32;  // lanes of a warp that read neighbouring vectors
[[maybe_unused]] constexpr bool ALONG_K = false;
[[maybe_unused]] constexpr int VEC = 4;
[[maybe_unused]] constexpr int NARROW_VEC = 1;
[[maybe_unused]] constexpr int TILE = 128;
[[maybe_unused]] constexpr int BK = 32;
[[maybe_unused]] constexpr int REDUCE_THREADS = 256;
[[maybe_unused]] constexpr int THREADS = 256;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 32768;  // dynamic shared memory per block
#line 1 "templates/families/skinny/kernel.cu"
