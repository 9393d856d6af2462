// simt BM=64 BN=64 BK=8 TM=8 TN=4 LANES_N=8 LOAD=0 STAGES=2 UNROLL=8 ORDER=1 GROUP=8 MIN_BLOCKS=1 PACK=0 SPLIT=1 REDUCE=0 STREAM=0 CUT=0 WARPS_K=1 for fp32 nn
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
[[maybe_unused]] constexpr int BK = 8;  // steps along k per stage
[[maybe_unused]] constexpr int TM = 8;  // rows of C per thread
[[maybe_unused]] constexpr int TN = 4;  // columns of C per thread
[[maybe_unused]] constexpr int LANES_N = 8;  // threads of a warp along the columns
[[maybe_unused]] constexpr int LOAD = 0;  // copies of operands; of those along k only the last, else through registers: registers
[[maybe_unused]] constexpr int STAGES = 2;  // tiles of A and B in shared memory
[[maybe_unused]] constexpr int UNROLL = 8;  // steps along k per round of unrolled code
[[maybe_unused]] constexpr int ORDER = 1;  // order of a thread's multiply-adds: serpentine
[[maybe_unused]] constexpr int GROUP = 8;  // block rows walked together, for reuse in L2
[[maybe_unused]] constexpr int MIN_BLOCKS = 1;  // blocks per SM that the registers must allow
[[maybe_unused]] constexpr int PACK = 0;  // 1: operands along k or not aligned are first copied to the workspace
[[maybe_unused]] constexpr int SPLIT = 1;  // blocks that share one tile's k
[[maybe_unused]] constexpr int REDUCE = 0;  // what adds the sums of a split tile: kernel
[[maybe_unused]] constexpr int STREAM = 0;  // 1: resident blocks take tiles in turn and share those of the last wave
[[maybe_unused]] constexpr int CUT = 0;  // 1: a block adds up the parts of an invariant product's k one after the other
[[maybe_unused]] constexpr int WARPS_K = 1;  // warps that have the same results and divide the steps of a stage
[[maybe_unused]] constexpr bool PACK_A = false;
[[maybe_unused]] constexpr bool PACK_B = false;
[[maybe_unused]] constexpr bool A_ALONG_K = true;
[[maybe_unused]] constexpr bool B_ALONG_K = false;
[[maybe_unused]] constexpr int VA = 4;
[[maybe_unused]] constexpr int VB = 4;
[[maybe_unused]] constexpr int VC = 4;
[[maybe_unused]] constexpr int BLOCKS = 0;
[[maybe_unused]] constexpr int SLICE = 1024;
[[maybe_unused]] constexpr int PACK_TILE = 64;
[[maybe_unused]] constexpr int PACK_THREADS = 256;
[[maybe_unused]] constexpr int PACK_SMEM_BYTES = 16640;
[[maybe_unused]] constexpr int PREPARE_THREADS = 256;
[[maybe_unused]] constexpr int REDUCE_THREADS = 256;
[[maybe_unused]] constexpr int THREADS = 128;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 8576;  // dynamic shared memory per block
#line 1 "templates/families/simt/kernel.cu"
