// A product of fp32 by fused multiply-adds, for operands that are not fit for anything faster: any layout, alignment
// and values. Sums of STRICT_RUN steps are added to others, which errs less than one sum along k.
//
//     block: 64 x 128 of C, 8 warps; thread: rows 4 warp to 4 warp + 3 and those 32 below, columns 4 lane to 4 lane + 3
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/index.cuh"

constexpr int STRICT_M = 64, STRICT_N = 128;  // of a tile of C
constexpr int STRICT_K = 16;                  // steps along k in shared memory
constexpr int STRICT_RUN = 256;               // steps along k of a sum
constexpr int STRICT_PAD = 4;                 // elements behind a line, which spread lines over the banks
struct StrictShared {
  alignas(16) float a[2][STRICT_K][STRICT_M + STRICT_PAD];
  alignas(16) float b[2][STRICT_K][STRICT_N + STRICT_PAD];
};
static_assert(sizeof(StrictShared) == STRICT_SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(STRICT_THREADS == 256, "host and kernel disagree on the block");

// A thread's elements of a tile of an operand, EXTENT rows of A or columns of B, on their way.
template <int EXTENT, bool ALONG_K>
struct StrictPiece {
  static constexpr int EACH = EXTENT * STRICT_K / STRICT_THREADS;
  float held[EACH];

  static __device__ __forceinline__ int along(int i) {
    const int t = threadIdx.x;
    return ALONG_K ? t / STRICT_K + i * (STRICT_THREADS / STRICT_K) : t % EXTENT;
  }
  static __device__ __forceinline__ int step(int i) {
    const int t = threadIdx.x;
    return ALONG_K ? t % STRICT_K : t / EXTENT + i * (STRICT_THREADS / EXTENT);
  }
  __device__ __forceinline__ void load(const float* x, i64 ld, i64 first, i64 extent, i64 k0, i64 k) {
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const i64 row = first + along(i);
      const i64 l = k0 + step(i);
      held[i] = row < extent && l < k ? x[ALONG_K ? row * ld + l : l * ld + row] : 0.0f;
    }
  }
  __device__ __forceinline__ void store(float (&tile)[STRICT_K][EXTENT + STRICT_PAD]) const {
#pragma unroll
    for (int i = 0; i < EACH; ++i) tile[step(i)][along(i)] = held[i];
  }
};

// One tile of C.
__device__ __forceinline__ void strict_tile(const TileIndex& tile, i64 m, i64 n, i64 k, Scalar alpha, const float* A,
                                            i64 lda, const float* B, i64 ldb, Scalar beta, float* C, i64 ldc,
                                            StrictShared& shared) {
  const i64 row0 = tile.m * STRICT_M;
  const i64 column0 = tile.n * STRICT_N;
  const int y = threadIdx.x / 32 * 4;
  const int x = threadIdx.x % 32 * 4;
  StrictPiece<STRICT_M, !TRANSPOSE_A> a;
  StrictPiece<STRICT_N, TRANSPOSE_B> b;
  float sums[8][4] = {};
  float run[8][4] = {};
  const auto fetch = [&](i64 k0) {
    a.load(A, lda, row0, m, k0, k);
    b.load(B, ldb, column0, n, k0, k);
  };
  const auto end_run = [&] {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        sums[i][j] += run[i][j];
        run[i][j] = 0;
      }
    }
  };
  int buffer = 0;
  fetch(0);
#pragma unroll 1
  for (i64 k0 = 0; k0 < k; k0 += STRICT_K) {
    a.store(shared.a[buffer]);
    b.store(shared.b[buffer]);
    __syncthreads();
    fetch(k0 + STRICT_K);
#pragma unroll
    for (int l = 0; l < STRICT_K; ++l) {
      using Four = Vector<float, 4>;
      const Four of_a[] = {*reinterpret_cast<const Four*>(&shared.a[buffer][l][y]),
                           *reinterpret_cast<const Four*>(&shared.a[buffer][l][y + STRICT_M / 2])};
      const Four of_b = *reinterpret_cast<const Four*>(&shared.b[buffer][l][x]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply_add(of_a[i / 4].at[i % 4], of_b.at[j], run[i][j]);
      }
    }
    buffer ^= 1;
    if ((k0 + STRICT_K) % STRICT_RUN == 0) end_run();
  }
  end_run();
  __syncthreads();  // before the next tile's elements
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const i64 row = row0 + y + i % 4 + i / 4 * (STRICT_M / 2);
      const i64 column = column0 + x + j;
      if (row < m && column < n) store_result(C + row * ldc + column, sums[i][j], alpha, beta);
    }
  }
}
