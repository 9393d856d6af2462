// mma_fp16x3 BM=32 BN=64 BK_BYTES=64 WM=32 WN=32 STAGES=3 AHEAD=1 MIN_BLOCKS=1 GROUP=4 SPLIT=1 for fp32 nn
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
[[maybe_unused]] constexpr int BM = 32;  // rows of C per block
[[maybe_unused]] constexpr int BN = 64;  // columns of C per block
[[maybe_unused]] constexpr int BK_BYTES = 64;  // bytes along k per stage, of each plane
[[maybe_unused]] constexpr int WM = 32;  // rows of C per warp
[[maybe_unused]] constexpr int WN = 32;  // columns of C per warp
[[maybe_unused]] constexpr int STAGES = 3;  // stages in shared memory
[[maybe_unused]] constexpr int AHEAD = 1;  // 1: a warp reads the next step's operands while it multiplies one's
[[maybe_unused]] constexpr int MIN_BLOCKS = 1;  // blocks per SM that the registers must allow
[[maybe_unused]] constexpr int GROUP = 4;  // rows of tiles walked together, for reuse in L2
[[maybe_unused]] constexpr int SPLIT = 1;  // parts of k, whose sums a further step adds
[[maybe_unused]] constexpr int PIECE_BYTES = 32;
[[maybe_unused]] constexpr int VC = 4;
[[maybe_unused]] constexpr int PROMOTE = 0;
[[maybe_unused]] constexpr int VA = 4;
[[maybe_unused]] constexpr int VB = 4;
[[maybe_unused]] constexpr int STRIPE_BLOCKS = 8;
[[maybe_unused]] constexpr int SPLIT_THREADS = 256;
[[maybe_unused]] constexpr int SPLIT_SMEM_BYTES = 69024;
[[maybe_unused]] constexpr int WIDE = 0;
[[maybe_unused]] constexpr int DECIDE_THREADS = 128;
[[maybe_unused]] constexpr int DECIDE_SMEM_BYTES = 99376;
[[maybe_unused]] constexpr int REDUCE_THREADS = 256;
[[maybe_unused]] constexpr int THREADS = 64;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 36864;  // dynamic shared memory per block
#line 1 "templates/families/mma_fp16x3/kernel.cu"
