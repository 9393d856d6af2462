// Products by instructions of a warp: how a block's tile of C is divided among warps, how stages of a tile's operands
// follow each other, and how sums are stored. Needs the rendered constants BM, BN, BK_BYTES, WM, WN, STAGES, PROMOTE,
// GROUP, SPLIT, VC, THREADS and ARCH, and the types Output and Scalar.
//
// A family says what is multiplied: a loader for each operand, which reads its `Element`, and Pieces, which a warp
// reads of a stage for a step along k and multiplies. READS_AHEAD: it reads the next step's while it multiplies one's.
#pragma once

#include "mmtune/epilogue.cuh"
#include "mmtune/index.cuh"
#include "mmtune/mma_tile.cuh"
#include "mmtune/split.cuh"

constexpr int WARPS_N = BN / WN;
constexpr int PIECES_M = WM / 16;
constexpr int PIECES_N = WN / 16;
constexpr int STEPS = BK_BYTES / PIECE_BYTES;  // the instructions along k in a stage
static_assert(THREADS == 32 * (BM / WM) * WARPS_N, "host and kernel disagree on the block");

using Sums = Accumulator[PIECES_M][2 * PIECES_N][4];

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (auto& row : sums) {
#pragma unroll
    for (auto& piece : row) {
#pragma unroll
      for (Accumulator& sum : piece) sum = 0;
    }
  }
}

__device__ __forceinline__ void add(Sums& sums, const Sums& others) {
#pragma unroll
  for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
    for (int j = 0; j < 2 * PIECES_N; ++j) {
#pragma unroll
      for (int s = 0; s < 4; ++s) sums[i][j][s] += others[i][j][s];
    }
  }
}

// How a block's part of A and B comes to shared memory, stage by stage: that which begins where `left` steps along k
// are left, if any are.
template <class Shared, class LoaderA, class LoaderB>
struct Fetcher {
  static constexpr int BK = LoaderA::BK;

  Shared& shared;
  LoaderA a;
  LoaderB b;

  __device__ __forceinline__ void fetch(i64 left, int stage) {
    if (left > 0) {
      const int depth = static_cast<int>(smaller(left, BK));
      a.fetch(shared.a[stage], depth);
      b.fetch(shared.b[stage], depth);
    }
    if constexpr (ARCH >= 80) commit_copies();
  }
  // Writes what passes through registers of the stage that was asked for last.
  __device__ __forceinline__ void finish(i64 left, int stage) const {
    if (left <= 0) return;
    a.finish(shared.a[stage]);
    b.finish(shared.b[stage]);
  }
  // All stages that were asked for but the latest STAGES - 2 are here, and no warp reads older ones any more.
  __device__ __forceinline__ void meet() const {
    if constexpr (ARCH >= 80) wait_copies<STAGES - 2>();
    __syncthreads();
  }
};

// Adds up k_length steps along k.
template <class Pieces, class StageFetcher>
__device__ __forceinline__ void multiply(Sums& sums, StageFetcher& fetcher, i64 k_length, int row0, int column0) {
  constexpr int BK = StageFetcher::BK;
  constexpr int AHEAD = (STAGES - 1) * BK;
  constexpr int SETS = Pieces::READS_AHEAD ? 2 : 1;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    fetcher.fetch(k_length - s * BK, s);
    fetcher.finish(k_length - s * BK, s);
  }
  clear(sums);
  if (k_length <= 0) return;
  [[maybe_unused]] Sums part;  // the sums since the last promotion
  [[maybe_unused]] int stages = 0;
  if constexpr (PROMOTE > 0) clear(part);
  int stage = 0;
  int filled = STAGES - 1;  // the stage before
  Pieces pieces[SETS];
  fetcher.meet();
  const auto next_stage = [&](i64 left) {
    fetcher.finish(left - AHEAD, filled);
    filled = stage;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    fetcher.meet();
  };
  if constexpr (SETS == 2) pieces[0].load(fetcher, stage, row0, column0, 0);
#pragma unroll 1
  for (i64 left = k_length; left > 0; left -= BK) {
    // What is read behind the last stage is not used.
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      constexpr bool IS_FETCHED_LATE = SETS == 2 && STEPS == 1;  // until the next stage is read, others read this one
      Pieces& own = pieces[step % SETS];
      if constexpr (SETS == 1) own.load(fetcher, stage, row0, column0, step);
      if (SETS == 2 && step + 1 == STEPS) {
        if (IS_FETCHED_LATE) fetcher.fetch(left - AHEAD, filled);
        next_stage(left);
      }
      if constexpr (SETS == 2) {
        pieces[(step + 1) % SETS].load(fetcher, stage, row0, column0, (step + 1) % STEPS);
      }
      if (!IS_FETCHED_LATE && step == 0) fetcher.fetch(left - AHEAD, filled);
      own.multiply(PROMOTE > 0 ? part : sums);
    }
    if constexpr (SETS == 1) next_stage(left);
    if constexpr (SETS == 2 && STEPS % 2 == 1) pieces[0] = pieces[1];
    if constexpr (PROMOTE > 0) {
      if (++stages == PROMOTE) {
        add(sums, part);
        clear(part);
        stages = 0;
      }
    }
  }
  if constexpr (PROMOTE > 0) add(sums, part);
}

// Where a warp's sums lie in the block's tile.
struct Position {
  int row0;
  int column0;

  __device__ __forceinline__ Position() {
    const int warp = threadIdx.x / 32;
    row0 = warp / WARPS_N * WM;
    column0 = warp % WARPS_N * WN;
  }
};

// What all tiles of a call have in common.
template <class LoaderA, class LoaderB, class Pieces>
struct ProductOfTiles {
  i64 m, n, k;
  Scalar alpha;
  const typename LoaderA::Element* A;
  i64 lda;
  const typename LoaderB::Element* B;
  i64 ldb;
  Scalar beta;
  Output* C;
  i64 ldc;
  Accumulator* partial;  // SPLIT = 0: [part][m][n]

  static constexpr int BK = LoaderA::BK;

  __device__ __forceinline__ TileIndex tile(i64 number) const {
    return tile_of_block(number, ceil_div(m, BM), ceil_div(n, BN), GROUP);
  }

  // `k_length` steps along k from k_begin on.
  template <class Shared>
  __device__ __forceinline__ void sum_up(Sums& sums, Shared& shared, const TileIndex& tile, i64 k_begin,
                                         i64 k_length) const {
    Fetcher<Shared, LoaderA, LoaderB> fetcher{shared, LoaderA(A, lda, m, tile.m * BM, k_begin),
                                              LoaderB(B, ldb, n, tile.n * BN, k_begin)};
    const Position position;
    multiply<Pieces>(sums, fetcher, k_length, position.row0, position.column0);
  }

  // `part`: of the tile's k.
  __device__ __forceinline__ void store(const Sums& sums, const TileIndex& tile, int part) const {
    const Position position;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const i64 row = tile.m * BM + position.row0 + 16 * i + 8 * r + lane / 4;
        if (row >= m) continue;
#pragma unroll
        for (int j = 0; j < 2 * PIECES_N; ++j) {
          const i64 column = tile.n * BN + position.column0 + 8 * j + 2 * (lane % 4);
          if constexpr (SPLIT == 0) {
            store_partial<2, VC>(partial + (part * m + row) * n + column, &sums[i][j][2 * r], n - column);
          } else {
            store_results<2, VC>(C + row * ldc + column, &sums[i][j][2 * r], alpha, beta,
                                 static_cast<int>(smaller(n - column, 2)));
          }
        }
      }
    }
  }
};

// One tile of C, or one part of its k, which is `k_tiles` stages. rescale(sums, row, column) sees the sums before they
// are stored, with the first row and column of the block's tile.
template <class Product, class Shared, class Rescale>
__device__ __forceinline__ void compute_tile(const Product& product, Shared& shared, i64 k_tiles,
                                             const Rescale& rescale) {
  const Share share = share_of_block();
  const TileIndex tile = product.tile(share.tile);
  const i64 k_length = k_tiles * Product::BK;
  const i64 k_begin = smaller(share.part * k_length, product.k);
  Sums sums;
  product.sum_up(sums, shared, tile, k_begin, smaller(product.k - k_begin, k_length));
  rescale(sums, tile.m * BM, tile.n * BN);
  product.store(sums, tile, share.part);
}
