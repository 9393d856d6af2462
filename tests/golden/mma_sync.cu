// mma_sync BM=64 BN=64 BK_BYTES=64 WM=32 WN=32 STAGES=3 MIN_BLOCKS=1 GROUP=8 SPLIT=1 PACK=0 STREAM=0 for fp32 nn
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
[[maybe_unused]] constexpr int BM = 64;  // rows of C per block
[[maybe_unused]] constexpr int BN = 64;  // columns of C per block
[[maybe_unused]] constexpr int BK_BYTES = 64;  // bytes along k per stage
[[maybe_unused]] constexpr int WM = 32;  // rows of C per warp
[[maybe_unused]] constexpr int WN = 32;  // columns of C per warp
[[maybe_unused]] constexpr int STAGES = 3;  // stages in shared memory
[[maybe_unused]] constexpr int MIN_BLOCKS = 1;  // blocks per SM that the registers must allow
[[maybe_unused]] constexpr int GROUP = 8;  // rows of tiles walked together, for reuse in L2
[[maybe_unused]] constexpr int SPLIT = 1;  // blocks that share one tile's k
[[maybe_unused]] constexpr int PACK = 0;  // the operand that is first copied to aligned rows: none
[[maybe_unused]] constexpr int STREAM = 0;  // 1: resident blocks take tiles in turn and share those of the last wave
[[maybe_unused]] constexpr int PIECE_BYTES = 32;
[[maybe_unused]] constexpr int VA = 4;
[[maybe_unused]] constexpr int VB = 4;
[[maybe_unused]] constexpr int VC = 4;
[[maybe_unused]] constexpr int PROMOTE = 0;
[[maybe_unused]] constexpr int BLOCKS = 0;
[[maybe_unused]] constexpr int PREPARE_THREADS = 256;
[[maybe_unused]] constexpr int REDUCE_THREADS = 256;
[[maybe_unused]] constexpr int PACK_THREADS = 256;
[[maybe_unused]] constexpr int PACK_VECTOR = 4;
[[maybe_unused]] constexpr int THREADS = 128;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 24576;  // dynamic shared memory per block
#line 1 "templates/families/mma_sync/kernel.cu"
