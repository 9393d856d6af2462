// wgmma_fp16x3 BM=128 BN=128 BK=32 CONSUMERS=2 PROMOTE=32 CLUSTER_M=1 CLUSTER_N=1 GROUP=8 SPLIT=1 for fp32 nn
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
[[maybe_unused]] constexpr int BM = 128;  // rows of C per tile
[[maybe_unused]] constexpr int BN = 128;  // columns of C per tile
[[maybe_unused]] constexpr int BK = 32;  // steps along k per stage
[[maybe_unused]] constexpr int CONSUMERS = 2;  // warpgroups that multiply
[[maybe_unused]] constexpr int PROMOTE = 32;  // steps along k whose sum tensor cores add up
[[maybe_unused]] constexpr int CLUSTER_M = 1;  // blocks along m that share tiles of B
[[maybe_unused]] constexpr int CLUSTER_N = 1;  // blocks along n that share tiles of A
[[maybe_unused]] constexpr int GROUP = 8;  // rows of tiles walked together, for reuse in L2
[[maybe_unused]] constexpr int SPLIT = 1;  // parts of k, whose sums a further step adds
[[maybe_unused]] constexpr int PLANES_A = 2;
[[maybe_unused]] constexpr int PLANES_B = 2;
[[maybe_unused]] constexpr int STAGES = 6;
[[maybe_unused]] constexpr bool STORE_BOXES = true;
[[maybe_unused]] constexpr int PRODUCER_REGISTERS = 40;
[[maybe_unused]] constexpr int CONSUMER_REGISTERS = 232;
[[maybe_unused]] constexpr int SWAP = 0;
[[maybe_unused]] constexpr int VA = 4;
[[maybe_unused]] constexpr int VB = 4;
[[maybe_unused]] constexpr int STRIPE_BLOCKS = 8;
[[maybe_unused]] constexpr int SPLIT_THREADS = 256;
[[maybe_unused]] constexpr int SPLIT_SMEM_BYTES = 69024;
[[maybe_unused]] constexpr int WIDE = 1;
[[maybe_unused]] constexpr int DECIDE_THREADS = 128;
[[maybe_unused]] constexpr int DECIDE_SMEM_BYTES = 99376;
[[maybe_unused]] constexpr int REDUCE_THREADS = 256;
[[maybe_unused]] constexpr int THREADS = 384;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 230400;  // dynamic shared memory per block
#line 1 "templates/families/wgmma_fp16x3/kernel.cu"
