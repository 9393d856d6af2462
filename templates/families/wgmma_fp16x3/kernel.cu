// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C for fp32, as precise as by fused multiply-adds, on Hopper's fp16
// tensor cores. The steps:
//
//   split   scales rows of op(A) and columns of op(B) by powers of two, and writes each element as the sum of two of
//           fp16, high + low, to two planes along k (fp16x3_planes.cuh), and counts what tells whether that is precise
//           enough.
//
//   decide  looks whether it is. Else it writes three planes of bf16, high + middle + low, where elements are in their
//           range, or multiplies A and B as they are on the CUDA cores (fp16x3_decide.cuh).
//
//   gemm            BN             one block: BM x BN of C at a time, BK steps along k per stage, of all four planes
//           ┌─────────────────┐
//           │  consumer 0     │ WG_ROWS   a warpgroup adds low * high + high * low + high * high of PROMOTE steps
//        BM ├─────────────────┤           of k by wgmma, which truncates sums, and adds that to its sums in
//           │  consumer 1     │ WG_ROWS   registers by fp32 additions, which round to nearest
//           └─────────────────┘           one producer thread keeps STAGES stages filled by the accelerator. Planes of
//                                         bf16 come in twice as many stages, for eight products (multiply_wide)
//
//   reduce  adds the sums of blocks that share a tile's k, where SPLIT says so (split.cuh).
//
// Errors: low * low is left out, at most 2^-22 |a b|; a factor errs by 2^-23 of it at most; sums of PROMOTE steps are
// truncated to 2^-23, those of k / PROMOTE parts rounded by 2^-24. docs/accuracy.md has the derivation.
//
// Registers of a consumer's thread: BN / 2 sums and BN / 2 of the chunk that is multiplied, for each fragment of 64
// rows; a second chunk where that makes no more than 192. Shared memory: STAGES * 2 planes * (BM + BN) * BK * 2 bytes.
//
// CLUSTER_M x CLUSTER_N blocks form a cluster: neighbours along m share a tile of B, along n one of A. Each fetches a
// part of what is shared and sends it to all that need it. Blocks are persistent and take tiles in the order of
// index.cuh.
#include "mmtune/batch.cuh"
#include "mmtune/batch_map.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/fp16x3_decide.cuh"
#include "mmtune/planes_multiply.cuh"
#include "mmtune/reduce.cuh"

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, 2)
    split(i64 m, i64 n, i64 k, PerProduct<const float*> A, i64 lda, PerProduct<const float*> B, i64 ldb,
          PerProduct<half_t*> planes_a, PerProduct<half_t*> planes_b, i64 planes_ld, PerProduct<float*> inverse_a,
          PerProduct<float*> inverse_b, PerProduct<Stripe*> stripes, i64 stripes_a, i64 stripes_b) {
  extern __shared__ __align__(16) unsigned char split_bytes[];
  SplitShared& shared = *reinterpret_cast<SplitShared*>(split_bytes);
  wait_for_previous();
  split_stripes({A, lda, m, k, planes_a, planes_ld, inverse_a, stripes},
                {B, ldb, n, k, planes_b, planes_ld, inverse_b, stripes + stripes_a}, stripes_a, stripes_b, shared);
  launch_dependents();
}

extern "C" __global__ void __launch_bounds__(DECIDE_THREADS, 2)
    decide(i64 m, i64 n, i64 k, Scalar alpha, PerProduct<const float*> A, i64 lda, PerProduct<const float*> B, i64 ldb,
           Scalar beta, PerProduct<Output*> C, i64 ldc, PerProduct<const Stripe*> stripes, i64 stripes_a, i64 stripes_b,
           PerProduct<half_t*> planes_a, PerProduct<half_t*> planes_b, i64 planes_ld, PerProduct<u32*> by) {
  extern __shared__ __align__(16) unsigned char decide_bytes[];
  DecideShared& shared = *reinterpret_cast<DecideShared*>(decide_bytes);
  wait_for_previous();
  launch_dependents();
  decide_product(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, stripes, stripes_a, stripes_b, planes_a, planes_b,
                 planes_ld, by, shared);
}

// Takes the powers of two by which rows of A and columns of B were scaled out of their products. A sum that becomes too
// small is 0, never -0.
__device__ __forceinline__ void unscale(Sums& sums, const Extents& extents, const float* inverse_a,
                                        const float* inverse_b, int row0, int column0) {
  const auto inverse = [](const float* of, int i, int extent) { return of[i < extent ? i : extent - 1]; };
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float of_row = inverse(inverse_a, row0 + Place(f, 2 * h).row, extents.m);
#pragma unroll
      for (int i = 2 * h; i < SUMS; i += 4) {
        sums[f][i] *= of_row;
        sums[f][i + 1] *= of_row;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < SUMS; i += 4) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float of_column = inverse(inverse_b, column0 + Place(0, i + c).column, extents.n);
#pragma unroll
      for (int f = 0; f < FRAGMENTS; ++f) {
        sums[f][i + c] = scaled(of_column, sums[f][i + c]);
        sums[f][i + 2 + c] = scaled(of_column, sums[f][i + 2 + c]);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm(i64 m, i64 n, i64 k, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
         const __grid_constant__ ProductMap map_a, const __grid_constant__ ProductMap map_b,
         const __grid_constant__ ProductMap map_c, PerProduct<const float*> inverse_a,
         PerProduct<const float*> inverse_b, PerProduct<const u32*> by, PerProduct<Accumulator*> partial, i64 parts,
         i64 k_tiles) {
  extern __shared__ __align__(1024) unsigned char shared_bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
  const Extents extents{static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
                        SPLIT == 0 ? static_cast<int>(parts) : 1, static_cast<int>(k_tiles)};
  const Target target{C, ldc, extents.m, extents.n, &map_c};
  if (threadIdx.x == PRODUCER) begin_stages(shared, &map_a, &map_b, &map_c);
  wait_for_previous();
  if (*by == BY_FP32) return;  // all blocks do
  __syncthreads();
  const auto is_wide = [&] { return *by == BY_BF16; };  // read again: a register for it would be one too many
  const auto rescale = [&](Sums& sums, int row, int column) {
    if (!is_wide()) unscale(sums, extents, inverse_a, inverse_b, row, column);
  };
  compute_tiles<void>(extents, &map_a, &map_b, target, alpha, beta, partial, shared, is_wide, rescale);
}

// Adds the sums of parts of k, where planes were multiplied.
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce(i64 m, i64 n, Scalar alpha, Scalar beta, PerProduct<Output*> C, i64 ldc,
           PerProduct<const Accumulator*> partial, PerProduct<const u32*> by, i64 parts) {
  wait_for_previous();
  if (*by == BY_FP32) return;
  if constexpr (SPLIT == 0) reduce_parts(m, n, alpha, beta, C, ldc, partial, static_cast<int>(parts));
}
