// One thread per element of C, or per small square of elements, and no shared memory: what a first kernel looks like.
//
//     MAPPING         block of C (BM x BN)        thread (x, y) of the block owns, counted in squares
//     0 linear        1 x 1                       the block's only element: row b / n, column b % n of block b
//     1 uncoalesced   BX x BY                     row x, column y: neighbouring threads read rows apart
//     2 coalesced     BY x BX                     row y, column x: neighbouring threads read neighbouring elements
//     3 block_coarse  BY COARSE x BX COARSE       row y, column x, in squares of COARSE x COARSE
//
//     C[row + i, column + j] = sum over l of op(A)[row + i, l] * op(B)[l, column + j],   i, j < COARSE
//
// Up to COARSE = 8 a square is unrolled into registers; above, its sums are an array in local memory.
#include "mmtune/batch.cuh"
#include "mmtune/index.cuh"

constexpr int UNCOALESCED = 1;
constexpr int SQUARE_UNROLL = COARSE <= 8 ? COARSE : 1;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA* __restrict__> A, i64 lda,
         PerProduct<const InputB* __restrict__> B, i64 ldb, Scalar beta, PerProduct<Output* __restrict__> C, i64 ldc) {
  const TileIndex tile = tile_of_block(blockIdx.x, ceil_div(m, BM), ceil_div(n, BN), 1);
  const i64 row = tile.m * BM + (MAPPING == UNCOALESCED ? threadIdx.x : threadIdx.y) * COARSE;
  const i64 column = tile.n * BN + (MAPPING == UNCOALESCED ? threadIdx.y : threadIdx.x) * COARSE;
  if (row >= m || column >= n) return;

  Accumulator sums[COARSE][COARSE] = {};
#pragma unroll UNROLL
  for (i64 l = 0; l < k; ++l) {
    // Beyond the edge the last row or column stands in; those sums are dropped.
    InputA a[COARSE];
    InputB b[COARSE];
#pragma unroll SQUARE_UNROLL
    for (int i = 0; i < COARSE; ++i) a[i] = A[offset_of<TRANSPOSE_A>(smaller(row + i, m - 1), l, lda)];
#pragma unroll SQUARE_UNROLL
    for (int j = 0; j < COARSE; ++j) b[j] = B[offset_of<TRANSPOSE_B>(l, smaller(column + j, n - 1), ldb)];
#pragma unroll SQUARE_UNROLL
    for (int i = 0; i < COARSE; ++i) {
#pragma unroll SQUARE_UNROLL
      for (int j = 0; j < COARSE; ++j) multiply_add(a[i], b[j], sums[i][j]);
    }
  }

#pragma unroll SQUARE_UNROLL
  for (int i = 0; i < COARSE; ++i) {
#pragma unroll SQUARE_UNROLL
    for (int j = 0; j < COARSE; ++j) {
      if (row + i < m && column + j < n) store_result(C + (row + i) * ldc + column + j, sums[i][j], alpha, beta);
    }
  }
}
