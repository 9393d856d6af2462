// Tiles of C of the family wgmma: how the block's threads and its shared memory are divided, and which tile or part of
// its steps along k a block computes at a turn. Needs the family's rendered constants.
#pragma once

#include "mmtune/index.cuh"
#include "mmtune/wgmma.cuh"
#include "mmtune/wgmma_store.cuh"

constexpr int BK = LINE / sizeof(InputA);

// An instruction multiplies 64 rows of one operand and N columns of the other; ROWS and COLUMNS are those of a tile.
template <bool SWAPPED>
struct Roles {
  static constexpr int ROWS = BM, COLUMNS = BN;
  static constexpr bool ROWS_ALONG_K = A_ALONG_K, COLUMNS_ALONG_K = B_ALONG_K;
  static constexpr int COLUMNS_LINE = LINE_B;
  using Kind = Wgmma<InputA, InputB, A_ALONG_K || FROM_REGISTERS, B_ALONG_K>;
};
template <>
struct Roles<true> {
  static constexpr int ROWS = BN, COLUMNS = BM;
  static constexpr bool ROWS_ALONG_K = B_ALONG_K, COLUMNS_ALONG_K = A_ALONG_K;
  static constexpr int COLUMNS_LINE = LINE_A;
  using Kind = Wgmma<InputB, InputA, B_ALONG_K || FROM_REGISTERS, A_ALONG_K>;
};
using Role = Roles<SWAP == 1>;
using Kind = Role::Kind;

constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;
constexpr int WG_ROWS = PINGPONG == 1 ? Role::ROWS : Role::ROWS / CONSUMERS;
constexpr int FRAGMENTS = WG_ROWS / 64;                         // instructions along their rows
constexpr int N0 = Role::COLUMNS <= 256 ? Role::COLUMNS : 192;  // columns of the first instruction
constexpr int N1 = Role::COLUMNS - N0;                          // and of the second, if any
constexpr int STORE_BYTES = WG_ROWS * LINE;                     // of a consumer's lines that are stored at once

struct Shared {
  alignas(1024) unsigned char a[STAGES][BM * LINE];
  alignas(1024) unsigned char b[STAGES][BN * LINE];
  alignas(1024) unsigned char c[CONSUMERS][2][STORE_BYTES];
  u64 full[STAGES];   // the accelerator has brought the stage
  u64 empty[STAGES];  // all that read it, here and in the cluster, are done with it
  alignas(16) Accumulator received[REDUCE == 1 ? BM * BN : 4];  // what blocks of the same tile have for this one
  u64 complete;                                                 // all of it
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == (CONSUMERS + 1) * WARPGROUP, "host and kernel disagree on the block");

// What one turn of a block computes: a tile of C, or a part of its steps along k.
struct Work {
  int row, column;  // of the tile in C
  int part;         // of the steps along k
  int first_step;   // of BK
  int steps;
};

// What all turns of a call have in common. Coordinates of the accelerator are 32-bit, and so are extents here.
struct Call {
  int m, n, k;
  Scalar alpha, beta;
  Target target;
  Accumulator* partial;
  const ProductMap* map_a;
  const ProductMap* map_b;

  // Of tiles of a whole cluster.
  __device__ __forceinline__ int tiles_m() const { return (m + BM * CLUSTER_M - 1) / (BM * CLUSTER_M); }
  __device__ __forceinline__ int tiles_n() const { return (n + BN * CLUSTER_N - 1) / (BN * CLUSTER_N); }
  __device__ __forceinline__ int turns() const { return tiles_m() * tiles_n() * SPLIT; }

  __device__ __forceinline__ Work work(int turn, int rank) const {
    const TileIndex tile = tile_of_block(turn / SPLIT, tiles_m(), tiles_n(), GROUP);
    const int steps = (k + BK - 1) / BK;
    const int share = (steps + SPLIT - 1) / SPLIT;
    Work work;
    work.row = (static_cast<int>(tile.m) * CLUSTER_M + rank % CLUSTER_M) * BM;
    work.column = (static_cast<int>(tile.n) * CLUSTER_N + rank / CLUSTER_M) * BN;
    work.part = turn % SPLIT;
    work.first_step = work.part * share;
    const int left = steps - work.first_step;
    work.steps = left > share ? share : left > 0 ? left : 0;
    return work;
  }
};
