// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C for A in bf16 and B in fp32, as precise as by fused multiply-adds
// in fp32, on Hopper's bf16 tensor cores. The steps:
//
//   split   writes each element of op(B) as the sum of three of bf16 to three planes along k, which is exact, and copies
//           A where the accelerator cannot read it along k (bf16x3_planes.cuh).
//
//   gemm            BN             one block: BM x BN of C at a time, BK steps along k per stage, of A and three planes
//           ┌─────────────────┐
//           │  consumer 0     │ WG_ROWS   a warpgroup adds a * low + a * middle + a * high of PROMOTE steps of k by
//        BM ├─────────────────┤           wgmma, which truncates sums, and adds that to its sums in registers by fp32
//           │  consumer 1     │ WG_ROWS   additions, which round to nearest
//           └─────────────────┘           one producer thread keeps STAGES stages filled by the accelerator
//
//   reduce  adds the sums of blocks that share a tile's k, where SPLIT says so (split.cuh).
//
// Sums that come out NaN are computed again without planes (bf16x3_strict.cuh).
//
// SWAP = 1: there is no step split. Stages hold A and B as they are, and consumers split numbers of B in registers, where
// the instruction reads its rows: columns of C, CONSUMERS * 64 = BN of them, side by side (bf16x3_registers.cuh).
//
// Errors are those of the family wgmma_fp16x3 without what its planes leave out: docs/accuracy.md. Registers, clusters
// and turns of blocks are as there; shared memory: STAGES * (BM + 3 BN) * BK * 2 bytes,
// or STAGES * (BM + 2 BN) * BK * 2 where SWAP = 1.
#include "mmtune/batch.cuh"
#include "mmtune/batch_map.cuh"
#include "mmtune/bf16x3_planes.cuh"
#include "mmtune/bf16x3_registers.cuh"
#include "mmtune/bf16x3_strict.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/planes_multiply.cuh"
#include "mmtune/reduce.cuh"

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS)
    split(i64 m, i64 n, i64 k, PerProduct<const InputA*> A, i64 lda, PerProduct<const InputB*> B, i64 ldb,
          PerProduct<InputA*> copy_a, PerProduct<InputA*> planes_b, i64 planes_ld) {
  extern __shared__ __align__(16) unsigned char split_bytes[];
  wait_for_previous();
  const i64 tiles_k = ceil_div(k, SPLIT_TILE);
  const i64 tiles_b = ceil_div(n, SPLIT_TILE) * tiles_k;
  const i64 tiles_a = COPIES_A ? ceil_div(m, SPLIT_TILE) * tiles_k : 0;
  const i64 tile = blockIdx.x;
  if (tile < tiles_b) {
    split_tile<PLANES_B, TRANSPOSE_B, VB, SPLIT_THREADS, Cut>(tile, static_cast<const InputB*>(B), ldb, n, k, planes_b,
                                                              planes_ld, split_bytes);
  } else if (tile < tiles_b + tiles_a) {
    split_tile<PLANES_A, !TRANSPOSE_A, VA, SPLIT_THREADS, Cut>(tile - tiles_b, static_cast<const InputA*>(A), lda, m, k,
                                                               copy_a, planes_ld, split_bytes);
  }
  launch_dependents();
}

// Computes a thread's sums again that are NaN. The number of a sum is no constant here, to have one loop for all.
__device__ __forceinline__ void mend(const StrictSums& strict, const Extents& extents, Sums& sums, int row0,
                                     int column0) {
  bool any = false;
#pragma unroll
  for (int e = 0; e < FRAGMENTS * SUMS; ++e) any |= sums[e / SUMS][e % SUMS] != sums[e / SUMS][e % SUMS];
  if (!any) return;
#pragma unroll 1
  for (int number = 0; number < FRAGMENTS * SUMS; ++number) {
    Accumulator sum = 0;
#pragma unroll
    for (int e = 0; e < FRAGMENTS * SUMS; ++e) sum = e == number ? sums[e / SUMS][e % SUMS] : sum;
    const Place place(number / SUMS, number % SUMS);
    const int row = row0 + place.row, column = column0 + place.column;
    if (sum == sum || row >= extents.m || column >= extents.n) continue;
    sum = strict.at(row, column);
#pragma unroll
    for (int e = 0; e < FRAGMENTS * SUMS; ++e) {
      if (e == number) sums[e / SUMS][e % SUMS] = sum;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
         const __grid_constant__ ProductMap map_a, const __grid_constant__ ProductMap map_b,
         const __grid_constant__ ProductMap map_c, PerProduct<const InputA*> A, i64 lda, PerProduct<const InputB*> B,
         i64 ldb, PerProduct<Accumulator*> partial, i64 parts, i64 k_tiles) {
  extern __shared__ __align__(1024) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  const Extents extents{static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
                        SPLIT == 0 ? static_cast<int>(parts) : 1, static_cast<int>(k_tiles)};
  const Target target{C, ldc, extents.m, extents.n, &map_c};
  if (threadIdx.x == PRODUCER) begin_stages(shared, &map_a, &map_b, &map_c);
  wait_for_previous();
  __syncthreads();
  const auto mend_all = [&](Sums& sums, int row, int column) {
    if constexpr (SPLIT == 1) mend({A, lda, B, ldb, k}, extents, sums, row, column);
  };
  const auto is_wide = [] { return false; };
  compute_tiles<SplitRows<InputB>>(extents, &map_a, &map_b, target, alpha, beta, partial, shared, is_wide, mend_all);
}

// Adds the sums of parts of k, and computes those again that are NaN.
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           i64 k, PerProduct<const InputA*> A, i64 lda, PerProduct<const InputB*> B, i64 ldb,
           PerProduct<const Accumulator*> partial, i64 parts) {
  const auto mend = [&](Accumulator sum, i64 row, i64 column) {
    return sum == sum ? sum : StrictSums{A, lda, B, ldb, k}.at(row, column);
  };
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts), mend);
}
