// Square tiles in shared memory: a block of TILE x TILE threads computes a tile of C, one element per thread.
//
//                      l0      TILE                       column0   TILE
//               op(A)  ├───────┤                   op(B)  ├───────┤
//       row0 ┬  ┌──────┬───────┬─────┐           l0 ┬  ┌──┬───────┬──┐
//       TILE │  │ ···> │   a   │ ··> │         TILE │  │  │   b   │  │   a and b walk along k,
//            ┴  └──────┴───────┴─────┘              ┴  └──┴───────┴──┘   TILE steps at a time
//
//     thread (x, y) loads one element of a and one of b, then adds a[y][l] * b[l][x] for all l < TILE
//     and owns C[row0 + y, column0 + x],   row0 = TILE * tile.m,   column0 = TILE * tile.n
//
// Threads outside of C load zeros, or elements that others need, and take part in every barrier. A transposed operand
// is turned over on its way into shared memory so that its loads coalesce too; one column of padding then spreads its
// stores over the banks.
#include "mmtune/batch.cuh"
#include "mmtune/index.cuh"

constexpr int PAD_A = TRANSPOSE_A ? 1 : 0;
constexpr int PAD_B = TRANSPOSE_B ? 1 : 0;

struct Shared {
  InputA a[TILE][TILE + PAD_A];  // [row of C][l]
  InputB b[TILE][TILE + PAD_B];  // [l][column of C]
};
static_assert(sizeof(Shared) == SMEM_BYTES, "host and kernel disagree on shared memory");

extern __shared__ __align__(16) unsigned char shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const InputA* __restrict__> A, i64 lda,
         PerProduct<const InputB* __restrict__> B, i64 ldb, Scalar beta, PerProduct<Output* __restrict__> C, i64 ldc) {
  Shared& shared = *reinterpret_cast<Shared*>(shared_memory);
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const TileIndex tile = tile_of_block(blockIdx.x, ceil_div(m, TILE), ceil_div(n, TILE), 1);
  const i64 row0 = tile.m * TILE;
  const i64 column0 = tile.n * TILE;

  // The element within its tile that this thread loads: x follows the contiguous extent.
  const int a_row = TRANSPOSE_A ? x : y, a_column = TRANSPOSE_A ? y : x;
  const int b_row = TRANSPOSE_B ? x : y, b_column = TRANSPOSE_B ? y : x;

  Accumulator sum = 0;
  for (i64 l0 = 0; l0 < k; l0 += TILE) {
    shared.a[a_row][a_column] = element_or_zero<TRANSPOSE_A, InputA>(A, row0 + a_row, l0 + a_column, m, k, lda);
    shared.b[b_row][b_column] = element_or_zero<TRANSPOSE_B, InputB>(B, l0 + b_row, column0 + b_column, k, n, ldb);
    __syncthreads();  // the tiles are complete
#pragma unroll UNROLL
    for (int l = 0; l < TILE; ++l) multiply_add(shared.a[y][l], shared.b[l][x], sum);
    __syncthreads();  // The tiles are no longer needed.
  }

  if (row0 + y < m && column0 + x < n) store_result(C + (row0 + y) * ldc + column0 + x, sum, alpha, beta);
}
