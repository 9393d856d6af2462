// Tiles of C of the family wgmma: how the block's threads and its shared memory are divided, and which tile or part of
// its steps along k a block computes at a turn. Needs the family's rendered constants.
#pragma once

#include "mmtune/index.cuh"
#include "mmtune/split.cuh"
#include "mmtune/wgmma.cuh"
#include "mmtune/wgmma_store.cuh"

constexpr int BK = LINE / sizeof(InputA);

// The rows of A and the columns of B that a stage holds: where lines are along them, what fills the last line too.
constexpr int WIDTH_A = LINE_A / sizeof(InputA), WIDTH_B = LINE_B / sizeof(InputB);
constexpr int HELD_A = A_ALONG_K ? BM : (BM + WIDTH_A - 1) / WIDTH_A * WIDTH_A;
constexpr int HELD_B = B_ALONG_K ? BN : (BN + WIDTH_B - 1) / WIDTH_B * WIDTH_B;

// An instruction multiplies 64 rows of one operand and N columns of the other; ROWS and COLUMNS are those of a tile,
// HELD_ROWS and HELD_COLUMNS those of a stage.
template <bool SWAPPED>
struct Roles {
  static constexpr int ROWS = BM, COLUMNS = BN, HELD_ROWS = HELD_A, HELD_COLUMNS = HELD_B;
  static constexpr bool ROWS_ALONG_K = A_ALONG_K, COLUMNS_ALONG_K = B_ALONG_K;
  static constexpr int COLUMNS_LINE = LINE_B;
  using Kind = Wgmma<InputA, InputB, A_ALONG_K || FROM_REGISTERS, B_ALONG_K>;
};
template <>
struct Roles<true> {
  static constexpr int ROWS = BN, COLUMNS = BM, HELD_ROWS = HELD_B, HELD_COLUMNS = HELD_A;
  static constexpr bool ROWS_ALONG_K = B_ALONG_K, COLUMNS_ALONG_K = A_ALONG_K;
  static constexpr int COLUMNS_LINE = LINE_A;
  using Kind = Wgmma<InputB, InputA, B_ALONG_K || FROM_REGISTERS, A_ALONG_K>;
};
using Role = Roles<SWAP == 1>;
using Kind = Role::Kind;

// Whether blocks along n share tiles of A and blocks along m tiles of B, how many the launch says.
constexpr bool SHARES_A = CLUSTER_N == 0, SHARES_B = CLUSTER_M == 0;
constexpr bool CLUSTERED = SHARES_A || SHARES_B;
constexpr int WG_ROWS = PINGPONG == 1 ? Role::ROWS : Role::ROWS / CONSUMERS;
constexpr int FRAGMENTS = (WG_ROWS + 63) / 64;                 // instructions along their rows
constexpr int SECOND_COLUMNS = Role::COLUMNS - FIRST_COLUMNS;  // the columns of a second instruction, or 0
constexpr int STORE_BYTES = 64 * LINE;                         // the bytes of a slice of a consumer's results

// What the threads of a block add up, those of a fragment that a tile does not fill included.
constexpr int BLOCK_SUMS = CONSUMERS * FRAGMENTS * 64 * Role::COLUMNS;

// Where a tile's rows do not fill the last fragment, an instruction reads what lies behind them, which nothing uses: of
// the last stage that is A.
struct Shared {
  alignas(1024) unsigned char b[STAGES][HELD_B * LINE];
  alignas(1024) unsigned char a[STAGES][HELD_A * LINE];
  alignas(1024) unsigned char c[CONSUMERS][STORE_BUFFERS][REDUCE == 1 ? 16 : STORE_BYTES];
  u64 full[STAGES];   // the accelerator has brought the stage
  u64 empty[STAGES];  // all that read it, here and in the cluster, are done with it
  // What the tile's other blocks have for this one.
  alignas(16) Accumulator received[REDUCE == 1 ? BLOCK_SUMS / ADDERS * (CLUSTER_PARTS - 1) : 4];
  u64 complete;                                                 // all of it
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == (CONSUMERS + 1) * WARPGROUP, "host and kernel disagree on the block");

// What one turn of a block computes: a tile of C, or a part of its steps along k.
struct Work {
  int row, column;  // the tile's first in C
  int part;         // the part of the steps along k
  int first_step;   // the first step, counted in BK
  int steps;
};

// What a consumer's threads add up: as wgmma.cuh says for each fragment of 64 rows, FIRST_COLUMNS first.
constexpr int SUMS = Role::COLUMNS / 2;
using Sums = Accumulator[FRAGMENTS][SUMS];
// Whether threads store results from registers: where lines would hold columns of no tile, and few sums of SWAP = 1,
// which so leave 1 to 5 % earlier; promoted ones do not.
constexpr bool STORES_EACH = IS_PARTIAL || (SWAP == 1 && FRAGMENTS * SUMS <= 16 && !PROMOTES);
// Whether boxes of a consumer's last results pass through its own rows of the stages, which nobody needs any more, so
// that no slice waits until the accelerator has read another: 1 % of a call of 10 us.
constexpr int SLICES = FRAGMENTS * Slice<Role::COLUMNS>::OF_FRAGMENT;
constexpr bool LEAVES_THROUGH_STAGES = STORE_BOXES && SWAP == 1 && PINGPONG == 0 && WG_ROWS % 64 == 0 &&
                                       SLICES > STORE_BUFFERS && SLICES <= STAGES * FRAGMENTS;

// Where a block is in its cluster, counted in tiles, and with which blocks of the cluster, a bit each, it shares tiles.
struct ClusterPlace {
  int m = 0, n = 0;
  u32 same_rows = 1;     // the blocks of the same rows of C, which need the same tiles of A
  u32 same_columns = 1;  // those of the same columns, which need the same tiles of B
};

// Tiles of C, of whole clusters where blocks form some, in the order of index.cuh: the launch says what would have to be
// divided, since nothing is fetched while a block looks for its tile. Reciprocals count in 2^-32 and are rounded down.
struct TileOrder {
  u32 tiles_m, tiles_n;
  u32 group_log2;       // the binary logarithm of the rows of tiles that are walked together, a band
  u32 reciprocal;       // of a band's tiles, of the only one if there is no other
  u32 last_reciprocal;  // of the rows of the last band

  __device__ __forceinline__ int tiles() const { return static_cast<int>(tiles_m * tiles_n); }

  // number / divisor, whose reciprocal is known.
  __device__ __forceinline__ static u32 quotient(u32 number, u32 divisor, u32 reciprocal) {
    const u32 low = static_cast<u32>(static_cast<u64>(number) * reciprocal >> 32);  // the quotient, or one less
    return number - low * divisor >= divisor ? low + 1 : low;
  }

  __device__ __forceinline__ void find(u32 number, int& m, int& n) const {
    const u32 group = 1u << group_log2;
    const u32 band_rows = tiles_m < group ? tiles_m : group;
    const u32 band = quotient(number, band_rows * tiles_n, reciprocal);
    const u32 inside = number - band * band_rows * tiles_n;
    const u32 first_row = band * band_rows;
    const u32 left = tiles_m - first_row;
    const u32 rows = left < group ? left : group;
    const u32 column = left < group ? quotient(inside, left, last_reciprocal) : inside >> group_log2;
    m = static_cast<int>(first_row + inside - column * rows);
    n = static_cast<int>(column);
  }
};

// What all turns of a call have in common. Coordinates of the accelerator are 32-bit, and so are extents here.
struct Call {
  int m, n, k;
  Scalar alpha, beta;
  Target target;
  Accumulator* partial;
  const ProductMap* map_a;
  const ProductMap* map_b;
  int parts;            // the parts of a tile's steps along k
  int part_steps;       // the steps of each part, or of each of a block's OWN_PARTS
  bool is_late;         // whether the next call is let in after the last results
  u32 cluster_m_log2, cluster_n_log2;  // the binary logarithms of the blocks of a cluster along m and n
  TileOrder order;

  // The number of the cluster of `blocks` blocks of the grid, or how many these are.
  __device__ __forceinline__ int cluster_of(int blocks) const { return blocks >> (cluster_m_log2 + cluster_n_log2); }
  // The blocks that read what a block fetches, itself among them, or write what it reads.
  __device__ __forceinline__ int sharers() const { return (1 << cluster_m_log2) + (1 << cluster_n_log2) - 1; }

  __device__ __forceinline__ ClusterPlace place() const {
    ClusterPlace place;
    if constexpr (CLUSTERED) {
      const int rank = cluster_rank();
      const int blocks_m = 1 << cluster_m_log2;
      place.m = rank & (blocks_m - 1);
      place.n = rank >> cluster_m_log2;
      place.same_columns = ((1u << blocks_m) - 1) << (place.n << cluster_m_log2);
      const u32 two = cluster_n_log2 == 0 ? 1 : 1 | 1u << blocks_m;
      place.same_rows = (cluster_n_log2 <= 1 ? two : two | two << 2 * blocks_m) << place.m;
    }
    return place;
  }
  // The steps of a tile along k.
  __device__ __forceinline__ int steps() const { return (k + BK - 1) / BK; }

  // The work on at most `most` steps of a tile.
  __device__ __forceinline__ Work work(int tile_m, int tile_n, int first_step, int most) const {
    Work work;
    work.row = tile_m * BM;
    work.column = tile_n * BN;
    work.part = 0;
    work.first_step = first_step;
    const int left = steps() - first_step;
    work.steps = left > most ? most : left > 0 ? left : 0;
    return work;
  }
};

// What a block computes, one turn after the other: blocks of the grid, or clusters, take turns.
struct Walk {
  const Call& call;
  int place_m, place_n;  // the block's in its cluster
  int turn;

  __device__ __forceinline__ Walk(const Call& of, const ClusterPlace& place)
      : call(of), place_m(place.m), place_n(place.n), turn(of.cluster_of(blockIdx.x)) {}

  __device__ __forceinline__ bool more() const { return turn < call.order.tiles() * call.parts; }

  __device__ __forceinline__ Work next() {
    const int tile = static_cast<u32>(turn) / static_cast<u32>(call.parts);
    const int part = turn - tile * call.parts;
    int m, n;
    call.order.find(tile, m, n);
    Work work = call.work((m << call.cluster_m_log2) + place_m, (n << call.cluster_n_log2) + place_n,
                          part * call.part_steps, OWN_PARTS * call.part_steps);
    work.part = part;
    turn += call.cluster_of(gridDim.x);
    return work;
  }
};
