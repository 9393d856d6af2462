// Tiles of C of the families that multiply planes of 16-bit numbers: how the block's threads and its shared memory are
// divided, and which tile a block computes at a turn. Needs their rendered constants.
//
// SWAP = 1: the 64 rows of an instruction are columns of C. They come from registers, and stages hold B as it is stored.
#pragma once

#include "mmtune/index.cuh"
#include "mmtune/ring.cuh"
#include "mmtune/split.cuh"
#include "mmtune/wgmma.cuh"
#include "mmtune/wgmma_store.cuh"

// An element of a plane: bf16 where A is, else fp16.
template <class Element>
struct PartOf {
  using type = half_t;
};
template <>
struct PartOf<bfloat_t> {
  using type = bfloat_t;
};
using Part = PartOf<InputA>::type;

// An element of B in a stage, and the tile's extents that an instruction's rows and its columns are parts of.
template <bool SWAPPED>
struct PlanesRole {
  using ElementB = Part;
  using Kind = Wgmma<Part, Part, true, true>;
  static constexpr int ROWS = BM, COLUMNS = BN;
};
template <>
struct PlanesRole<true> {
  using ElementB = InputB;
  using Kind = WgmmaFromRegisters<Part>;
  static constexpr int ROWS = BN, COLUMNS = BM;
};
using Role = PlanesRole<SWAP == 1>;
using Kind = Role::Kind;

constexpr int BOX_COLUMNS = LINE / 4;  // the columns of fp32, side by side in a line of B along n
constexpr int HELD_B = SWAP == 1 ? 1 : PLANES_B;  // matrices of B in a stage
constexpr int LINE_A = BK * sizeof(Part);  // bytes of a line of a tile along k
constexpr int LINE_B = BK * sizeof(Role::ElementB);
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;   // blocks
constexpr int WG_ROWS = Role::ROWS / CONSUMERS;  // the rows of a consumer's part of the tile
constexpr int FRAGMENTS = WG_ROWS / 64;          // instructions along these
constexpr int SUMS = Role::COLUMNS / 2;          // the sums of a thread and a fragment
constexpr int STORE_BYTES = WG_ROWS * LINE;      // the bytes of a consumer's lines that are stored at once
constexpr int CHUNKS = BK / PROMOTE;             // the chunks of a stage, each with sums of its own
using Sums = Accumulator[FRAGMENTS][SUMS];
static_assert(BK % PROMOTE == 0 && PROMOTE % Kind::K == 0, "a stage is whole chunks, these whole instructions");

struct Shared {
  alignas(1024) unsigned char a[STAGES][PLANES_A][BM * LINE_A];
  alignas(1024) unsigned char b[STAGES][HELD_B][BN * LINE_B];
  alignas(1024) unsigned char c[CONSUMERS][2][STORE_BYTES];
  u64 full[STAGES];   // the accelerator has brought the stage
  u64 empty[STAGES];  // all that read it, here and in the cluster, are done with it
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(THREADS == (CONSUMERS + 1) * WARPGROUP, "host and kernel disagree on the block");

__device__ __forceinline__ int own_rank() { return CLUSTER > 1 ? cluster_rank() : 0; }

struct TilePlace {
  int row, column;  // the tile's first in C
};

// What a block computes at a turn: a tile of C, or a part of its steps along k, counted in BK. Coordinates of the
// accelerator are 32-bit, and so are extents here.
struct Extents {
  int m, n, k;
  int parts;       // the parts of a tile's steps along k
  int part_steps;  // the steps of each part

  // The numbers of tiles of a whole cluster.
  __device__ __forceinline__ int tiles_m() const { return (m + BM * CLUSTER_M - 1) / (BM * CLUSTER_M); }
  __device__ __forceinline__ int tiles_n() const { return (n + BN * CLUSTER_N - 1) / (BN * CLUSTER_N); }
  __device__ __forceinline__ int turns() const { return tiles_m() * tiles_n() * parts; }

  __device__ __forceinline__ int part(int turn) const { return SPLIT == 0 ? turn % parts : 0; }
  __device__ __forceinline__ int first_step(int turn) const { return part(turn) * part_steps; }
  __device__ __forceinline__ int steps(int turn) const {
    const int steps = (k + BK - 1) / BK;
    if constexpr (SPLIT == 1) return steps;
    const int left = steps - first_step(turn);
    return left > part_steps ? part_steps : left > 0 ? left : 0;
  }
  __device__ __forceinline__ TilePlace place(int turn) const {
    const int rank = own_rank();
    const TileIndex tile = tile_of_block(SPLIT == 0 ? turn / parts : turn, tiles_m(), tiles_n(), GROUP);
    return {(static_cast<int>(tile.m) * CLUSTER_M + rank % CLUSTER_M) * BM,
            (static_cast<int>(tile.n) * CLUSTER_N + rank / CLUSTER_M) * BN};
  }

  // Clusters of the grid take turns. What can be read again is not kept: consumers have no register to spare.
  template <class Visit>
  __device__ __forceinline__ void for_each_turn(const Visit& visit) const {
    for (int turn = blockIdx.x / CLUSTER; turn < turns(); turn += gridDim.x / CLUSTER) visit(turn);
  }
  __device__ __forceinline__ bool is_last(int turn) const {
    return turn + static_cast<int>(gridDim.x / CLUSTER) >= turns();
  }
};
