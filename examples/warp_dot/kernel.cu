// One warp per element of C, for few elements and long sums: lane l of the warp adds the products l, l + 32, l + 64, …
//
//     block: one row of C, WARPS neighbouring columns
//     C[row, column] = sum over lanes of (sum over l = lane, lane + 32, … of op(A)[row, l] * op(B)[l, column])
#include "mmtune/batch.cuh"
#include "mmtune/index.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA* __restrict__> A, i64 lda,
         PerProduct<const InputB* __restrict__> B, i64 ldb, Scalar beta, PerProduct<Output* __restrict__> C, i64 ldc) {
  const TileIndex tile = tile_of_block(blockIdx.x, m, ceil_div(n, WARPS), 1);
  const i64 row = tile.m;
  const i64 column = tile.n * WARPS + threadIdx.y;
  if (column >= n) return;  // a whole warp leaves, so the exchange below stays complete

  Accumulator sum = 0;
#pragma unroll UNROLL
  for (i64 l = threadIdx.x; l < k; l += 32) {
    multiply_add(A[offset_of<TRANSPOSE_A>(row, l, lda)], B[offset_of<TRANSPOSE_B>(l, column, ldb)], sum);
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  if (threadIdx.x == 0) store_result(C + row * ldc + column, sum, alpha, beta);
}
