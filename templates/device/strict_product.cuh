// A product of fp32 by fused multiply-adds, for operands that are not fit for anything faster: any layout, alignment
// and values. Sums of STRICT_RUN steps are added to others, which errs less than one sum along k.
//
//     block: 128 x 128 of C, 2 x 2 warps; warp: 64 x 64, 4 x 8 lanes;
//     thread: four rows of its warp's part and those 16, 32 and 48 below, four columns and those 32 to the right
//
// A thread keeps what it has summed up in shared memory, where it is no burden on the registers.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/index.cuh"

constexpr int STRICT_THREADS = 128;  // a block
constexpr int STRICT_TILE = 128;  // rows and columns of a tile of C
constexpr int STRICT_K = 16;  // steps along k in shared memory
constexpr int STRICT_RUN = 64;  // steps along k of a sum
constexpr int STRICT_PAD = 4;  // elements behind a line, which spread lines over the banks
constexpr int STRICT_ROWS = 16, STRICT_COLUMNS = 8;  // the rows and columns of a thread's results
constexpr int STRICT_DOWN = 16;  // the rows from four of a thread to its next four
constexpr int STRICT_RIGHT = 32;  // the columns from four of a thread to its next four
constexpr int STRICT_FOURS = STRICT_ROWS * STRICT_COLUMNS / 4;  // a thread's fours of neighbours in a row
using StrictFour = Vector<float, 4>;
struct StrictShared {
  alignas(16) float a[2][STRICT_K][STRICT_TILE + STRICT_PAD];
  alignas(16) float b[2][STRICT_K][STRICT_TILE + STRICT_PAD];
  StrictFour sums[STRICT_FOURS][STRICT_THREADS];
};

// A thread's elements of a tile of an operand, rows of A or columns of B, on their way: VECTOR neighbours at a time of
// lines that lie along k or across it.
template <bool ALONG_K, int VECTOR>
struct StrictPiece {
  static constexpr int UNITS = (ALONG_K ? STRICT_K : STRICT_TILE) / VECTOR;  // the units of a line
  static constexpr int LINES = STRICT_THREADS / UNITS;                       // the lines that the block reads at once
  static constexpr int EACH = STRICT_TILE * STRICT_K / VECTOR / STRICT_THREADS;
  static_assert(EACH * LINES == (ALONG_K ? STRICT_TILE : STRICT_K), "a tile is whole lines of all threads");

  const float* next;
  i64 ld;
  int rows_left, steps_left;  // those left from this thread's first element on
  Vector<float, VECTOR> held[EACH];

  static __device__ __forceinline__ int line() { return static_cast<int>(threadIdx.x) / UNITS; }
  static __device__ __forceinline__ int place() { return static_cast<int>(threadIdx.x) % UNITS * VECTOR; }

  __device__ __forceinline__ StrictPiece(const float* x, i64 ld, i64 first, i64 extent, i64 k)
      : next(x + (ALONG_K ? (first + line()) * ld + place() : line() * ld + first + place())),
        ld(ld),
        rows_left(static_cast<int>(extent - first) - (ALONG_K ? line() : place())),
        steps_left(static_cast<int>(k) - (ALONG_K ? place() : line())) {}

  // The next STRICT_K steps.
  __device__ __forceinline__ void load() {
    const int lines_left = ALONG_K ? rows_left : steps_left;
    const bool is_there = (ALONG_K ? steps_left : rows_left) > 0;
    const float* source = next;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      held[i] = load_if<VECTOR>(is_there && i * LINES < lines_left, source);
      source += LINES * ld;
    }
    next = ALONG_K ? next + STRICT_K : source;
    steps_left -= STRICT_K;
  }
  __device__ __forceinline__ void store(float (&tile)[STRICT_K][STRICT_TILE + STRICT_PAD]) const {
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      if constexpr (ALONG_K) {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) tile[place() + v][line() + i * LINES] = held[i].at[v];
      } else {
        *reinterpret_cast<Vector<float, VECTOR>*>(&tile[line() + i * LINES][place()]) = held[i];
      }
    }
  }
};

// One tile of C.
__device__ __forceinline__ void strict_tile(const TileIndex& tile, i64 m, i64 n, i64 k, Scalar alpha, const float* A,
                                            i64 lda, const float* B, i64 ldb, Scalar beta, float* C, i64 ldc,
                                            StrictShared& shared) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  // Eight neighbouring lanes have two columns and four rows of lanes, so that reads do not meet in a bank.
  const int y = warp / 2 * (4 * STRICT_DOWN) + lane / 2 % 4 * 4;
  const int x = warp % 2 * (2 * STRICT_RIGHT) + (lane / 8 * 2 + lane % 2) * 4;
  const int row0 = static_cast<int>(tile.m) * STRICT_TILE;
  const int column0 = static_cast<int>(tile.n) * STRICT_TILE;
  StrictPiece<!TRANSPOSE_A, VA> a(A, lda, row0, m, k);
  StrictPiece<TRANSPOSE_B, VB> b(B, ldb, column0, n, k);
  float run[STRICT_ROWS][STRICT_COLUMNS] = {};
  StrictFour(&sums)[STRICT_FOURS][STRICT_THREADS] = shared.sums;
#pragma unroll
  for (int four = 0; four < STRICT_FOURS; ++four) sums[four][threadIdx.x] = {};
  a.load();
  b.load();
  int buffer = 0;
#pragma unroll 1
  for (int step = 0; step < static_cast<int>(k); step += STRICT_K) {
    a.store(shared.a[buffer]);
    b.store(shared.b[buffer]);
    __syncthreads();
    a.load();
    b.load();
#pragma unroll 4  // Registers spill in longer rounds.
    for (int l = 0; l < STRICT_K; ++l) {
      const auto four = [](const float& first) { return *reinterpret_cast<const StrictFour*>(&first); };
      StrictFour of_a[STRICT_ROWS / 4];
#pragma unroll
      for (int i = 0; i < STRICT_ROWS / 4; ++i) of_a[i] = four(shared.a[buffer][l][y + i * STRICT_DOWN]);
      const StrictFour of_b[] = {four(shared.b[buffer][l][x]), four(shared.b[buffer][l][x + STRICT_RIGHT])};
#pragma unroll
      for (int i = 0; i < STRICT_ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < STRICT_COLUMNS; ++j) multiply_add(of_a[i / 4].at[i % 4], of_b[j / 4].at[j % 4], run[i][j]);
      }
    }
    buffer ^= 1;
    if ((step + STRICT_K) % STRICT_RUN != 0 && step + STRICT_K < static_cast<int>(k)) continue;
#pragma unroll
    for (int four = 0; four < STRICT_FOURS; ++four) {
      float* const of_run = &run[four * 4 / STRICT_COLUMNS][four * 4 % STRICT_COLUMNS];
      StrictFour total = sums[four][threadIdx.x];
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        total.at[v] += of_run[v];
        of_run[v] = 0;
      }
      sums[four][threadIdx.x] = total;
    }
  }
  __syncthreads();  // The next tile's elements come after this.
#pragma unroll 1
  for (int four = 0; four < STRICT_FOURS; ++four) {
    const StrictFour total = sums[four][threadIdx.x];
    const int i = four * 4 / STRICT_COLUMNS;
    const i64 row = row0 + y + i % 4 + i / 4 * STRICT_DOWN;
    const i64 column = column0 + x + four % 2 * STRICT_RIGHT;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      if (row < m && column + v < n) store_result(C + row * ldc + column + v, total.at[v], alpha, beta);
    }
  }
}

// All tiles of C, which the blocks of the grid share.
__device__ __forceinline__ void strict_product(i64 m, i64 n, i64 k, Scalar alpha, const float* A, i64 lda,
                                               const float* B, i64 ldb, Scalar beta, float* C, i64 ldc,
                                               StrictShared& shared) {
  const i64 tiles_m = ceil_div(m, STRICT_TILE);
  const i64 tiles_n = ceil_div(n, STRICT_TILE);
  for (i64 tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
    strict_tile(tile_of_block(tile, tiles_m, tiles_n, 8), m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, shared);
  }
}
