// Square tiles in shared memory with thread coarsening: a block of TILE x TILE threads computes CM x CN tiles of C, so
// each tile of A serves CN tiles of B and each tile of B serves CM tiles of A. CM = 1, CN = 2 for example:
//
//                      l0      TILE                       column0   TILE    TILE
//               op(A)  ├───────┤                   op(B)  ├───────┼───────┤
//       row0 ┬  ┌──────┬───────┬─────┐           l0 ┬  ┌──┬───────┬───────┬──┐
//       TILE │  │ ···> │   a   │ ··> │         TILE │  │  │   b[0..1]     │  │   a and b walk along k,
//            ┴  └──────┴───────┴─────┘              ┴  └──┴───────┴───────┴──┘   TILE steps at a time
//
//     thread (x, y) owns C[row0 + y + TILE * r, column0 + x + TILE * c] for r < CM, c < CN,
//     row0 = BM * tile.m,   column0 = BN * tile.n,   BM = CM * TILE,   BN = CN * TILE
//
// Its elements lie TILE apart, so that neighbouring threads always touch neighbouring elements. Threads outside of C
// load zeros, or elements that others need, and take part in every barrier. A transposed operand is turned over on its
// way into shared memory so that its loads coalesce too; one column of padding then spreads its stores over the banks.
#include "mmtune/batch.cuh"
#include "mmtune/index.cuh"

constexpr int PAD_A = TRANSPOSE_A ? 1 : 0;
constexpr int PAD_B = TRANSPOSE_B ? 1 : 0;

struct Shared {
  InputA a[BM][TILE + PAD_A];  // [row of C][l]
  InputB b[TILE][BN + PAD_B];  // [l][column of C]
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");

extern __shared__ __align__(16) unsigned char shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA* __restrict__> A, i64 lda,
         PerProduct<const InputB* __restrict__> B, i64 ldb, Scalar beta, PerProduct<Output* __restrict__> C, i64 ldc) {
  Shared& shared = *reinterpret_cast<Shared*>(shared_memory);
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const TileIndex tile = tile_of_block(blockIdx.x, ceil_div(m, BM), ceil_div(n, BN), 1);
  const i64 row0 = tile.m * BM;
  const i64 column0 = tile.n * BN;

  // The element within a tile that this thread loads: x follows the contiguous extent.
  const int a_row = TRANSPOSE_A ? x : y, a_column = TRANSPOSE_A ? y : x;
  const int b_row = TRANSPOSE_B ? x : y, b_column = TRANSPOSE_B ? y : x;

  Accumulator sums[CM][CN] = {};
  for (i64 l0 = 0; l0 < k; l0 += TILE) {
#pragma unroll
    for (int r = 0; r < CM; ++r) {
      const int row = a_row + r * TILE;
      shared.a[row][a_column] = element_or_zero<TRANSPOSE_A, InputA>(A, row0 + row, l0 + a_column, m, k, lda);
    }
#pragma unroll
    for (int c = 0; c < CN; ++c) {
      const int column = b_column + c * TILE;
      shared.b[b_row][column] = element_or_zero<TRANSPOSE_B, InputB>(B, l0 + b_row, column0 + column, k, n, ldb);
    }
    __syncthreads();  // the tiles are complete
#pragma unroll UNROLL
    for (int l = 0; l < TILE; ++l) {
      InputB b[CN];
#pragma unroll
      for (int c = 0; c < CN; ++c) b[c] = shared.b[l][x + c * TILE];
#pragma unroll
      for (int r = 0; r < CM; ++r) {
        const InputA a = shared.a[y + r * TILE][l];
#pragma unroll
        for (int c = 0; c < CN; ++c) multiply_add(a, b[c], sums[r][c]);
      }
    }
    __syncthreads();  // The tiles are no longer needed.
  }

#pragma unroll
  for (int r = 0; r < CM; ++r) {
#pragma unroll
    for (int c = 0; c < CN; ++c) {
      const i64 row = row0 + y + r * TILE;
      const i64 column = column0 + x + c * TILE;
      if (row < m && column < n) store_result(C + row * ldc + column, sums[r][c], alpha, beta);
    }
  }
}
