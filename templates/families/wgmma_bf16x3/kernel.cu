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
// Errors are those of the family wgmma_fp16x3 without what its planes leave out: docs/accuracy.md. Registers, clusters
// and turns of blocks are as there; shared memory: STAGES * (BM + 3 BN) * BK * 2 bytes.
#include "mmtune/batch.cuh"
#include "mmtune/batch_map.cuh"
#include "mmtune/bf16x3_planes.cuh"
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
    split_tile<PLANES_B, TRANSPOSE_B, VB>(tile, static_cast<const InputB*>(B), ldb, n, k, planes_b, planes_ld,
                                          split_bytes);
  } else if (tile < tiles_b + tiles_a) {
    split_tile<PLANES_A, !TRANSPOSE_A, VA>(tile - tiles_b, static_cast<const InputA*>(A), lda, m, k, copy_a, planes_ld,
                                           split_bytes);
  }
  launch_dependents();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
         const __grid_constant__ ProductMap map_a, const __grid_constant__ ProductMap map_b,
         const __grid_constant__ ProductMap map_c, PerProduct<Accumulator*> partial, i64 parts, i64 k_tiles) {
  extern __shared__ __align__(1024) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  const Extents extents{static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
                        SPLIT == 0 ? static_cast<int>(parts) : 1, static_cast<int>(k_tiles)};
  const Target target{C, ldc, extents.m, extents.n, &map_c};
  if (threadIdx.x == PRODUCER) begin_stages(shared, &map_a, &map_b, &map_c);
  wait_for_previous();
  __syncthreads();
  compute_tiles(extents, &map_a, &map_b, target, alpha, beta, partial, shared, [](Sums&, int, int) {});
}

// Adds the sums of parts of k.
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           PerProduct<const Accumulator*> partial, i64 parts) {
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts));
}
