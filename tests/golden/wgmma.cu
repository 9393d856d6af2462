// wgmma BM=128 BN=128 CONSUMERS=2 PINGPONG=0 SWAP=1 SPLIT=1 PACK=0 REDUCE=0 STREAM=0 MIN_BLOCKS=1 OWN_PARTS=1 for fp32 nn
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
[[maybe_unused]] constexpr int CONSUMERS = 2;  // warpgroups that multiply
[[maybe_unused]] constexpr int PINGPONG = 0;  // 1: consumers have tiles of their own and take turns to multiply
[[maybe_unused]] constexpr int SWAP = 1;  // 1: the 64 rows of an instruction are columns of C, its columns rows of C
[[maybe_unused]] constexpr int SPLIT = 1;  // parts of k, whose sums are added
[[maybe_unused]] constexpr int PACK = 0;  // 1: operands whose rows do not begin with a line are first copied
[[maybe_unused]] constexpr int REDUCE = 0;  // parts are added by: 0 a second kernel, 1 a cluster of blocks
[[maybe_unused]] constexpr int STREAM = 0;  // nothing: databases name it, where 1 never won
[[maybe_unused]] constexpr int MIN_BLOCKS = 1;  // blocks that share an SM, which the program leaves room for
[[maybe_unused]] constexpr int OWN_PARTS = 1;  // parts of k that a block adds up one after the other
[[maybe_unused]] constexpr int CLUSTER_M = 1;
[[maybe_unused]] constexpr int CLUSTER_N = 1;
[[maybe_unused]] constexpr int GROUP = 0;
[[maybe_unused]] constexpr int FETCH = 128;
[[maybe_unused]] constexpr int STAGES = 6;
[[maybe_unused]] constexpr int STORE_BUFFERS = 2;
[[maybe_unused]] constexpr int FIRST_COLUMNS = 128;
[[maybe_unused]] constexpr int ADDERS = 1;
[[maybe_unused]] constexpr bool A_ALONG_K = true;
[[maybe_unused]] constexpr bool B_ALONG_K = false;
[[maybe_unused]] constexpr int LINE_A = 128;
[[maybe_unused]] constexpr int LINE_B = 128;
[[maybe_unused]] constexpr bool TURNS_A = false;
[[maybe_unused]] constexpr bool TURNS_B = false;
[[maybe_unused]] constexpr bool FROM_REGISTERS = true;
[[maybe_unused]] constexpr bool PROMOTES = false;
[[maybe_unused]] constexpr int VA = 4;
[[maybe_unused]] constexpr int VB = 4;
[[maybe_unused]] constexpr bool STORE_BOXES = true;
[[maybe_unused]] constexpr bool LATE = true;
[[maybe_unused]] constexpr bool MOVES_REGISTERS = true;
[[maybe_unused]] constexpr int PRODUCER_REGISTERS = 40;
[[maybe_unused]] constexpr int CONSUMER_REGISTERS = 232;
[[maybe_unused]] constexpr int PACK_THREADS = 256;
[[maybe_unused]] constexpr int PACK_TILE = 64;
[[maybe_unused]] constexpr int PACK_SMEM_BYTES = 0;
[[maybe_unused]] constexpr int REDUCE_THREADS = 256;
[[maybe_unused]] constexpr int THREADS = 384;  // per block
[[maybe_unused]] constexpr int SMEM_BYTES = 230400;  // dynamic shared memory per block
#line 1 "templates/families/wgmma/kernel.cu"
