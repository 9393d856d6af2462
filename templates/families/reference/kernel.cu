// The yardstick: every sum is formed in double, or modulo 2^32 for integers, in ascending order of l, and rounded to
// the accumulator's type at the end. Written to be believed, not to be fast; device/reference.cuh shows the tiles.
//
//     block  C[row0 … row0 + 31, column0 … column0 + 31],   row0 = 32 * tile.m,   column0 = 32 * tile.n
#include "mmtune/batch.cuh"
#include "mmtune/reference.cuh"

static_assert(TILE == REFERENCE_TILE && THREADS == TILE * REFERENCE_ROWS, "host and kernel disagree on the block");

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA* __restrict__> A, i64 lda,
         PerProduct<const InputB* __restrict__> B, i64 ldb, Scalar beta, PerProduct<Output* __restrict__> C, i64 ldc) {
  const TileIndex tile = tile_of_block(blockIdx.x, ceil_div(m, REFERENCE_TILE), ceil_div(n, REFERENCE_TILE), 1);
  const i64 row0 = tile.m * REFERENCE_TILE;
  const i64 column0 = tile.n * REFERENCE_TILE;

  ExactSum<Accumulator> sums[REFERENCE_SUMS];
  exact_dot<TRANSPOSE_A, TRANSPOSE_B, false, InputA, InputB>(row0, column0, m, n, k, A, lda, B, ldb, sums);

  const i64 column = column0 + threadIdx.x;
#pragma unroll
  for (int s = 0; s < REFERENCE_SUMS; ++s) {
    const i64 row = row0 + threadIdx.y + s * REFERENCE_ROWS;
    if (row < m && column < n) {
      store_result(C + row * ldc + column, static_cast<Accumulator>(sums[s].value), alpha, beta);
    }
  }
}
