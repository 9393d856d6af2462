// How operands are multiplied, from what the step that splits them has found: by planes of fp16; by three planes of
// bf16, where the family can (WIDE = 1), the operands are not fit for fp16, none of their elements is out of range,
// and k is not short; else as they are, by fused multiply-adds. Needs the rendered constants WIDE, DECIDE_THREADS and
// DECIDE_SMEM_BYTES.
#pragma once

#include "mmtune/bf16x3_planes.cuh"
#include "mmtune/fp16x3_planes.cuh"
#include "mmtune/strict_product.cuh"

constexpr u32 BY_FP16 = 0, BY_BF16 = 1, BY_FP32 = 2;  // what multiplies
// The fewest steps of k for planes of bf16. With fewer, errors were up to 1.54 times those of fused multiply-adds, which
// round where tensor cores cut off (docs/lab/2026-11-24-emulation.md).
constexpr i64 LEAST_WIDE_K = 128;

struct DecideShared {
  StrictShared strict;
  int least[2][STRICT_THREADS / 32];  // what the warps found
  u32 needs[STRICT_THREADS / 32];
};
static_assert(sizeof(DecideShared) == DECIDE_SMEM_BYTES, "host and kernel disagree on shared memory");
static_assert(STRICT_THREADS == DECIDE_THREADS, "host and kernel disagree on the block");

// What multiplies, from the stripes of both operands. For all threads of a block.
__device__ __forceinline__ u32 decide_by(const Stripe* stripes, i64 stripes_a, i64 stripes_b, i64 k,
                                         DecideShared& shared) {
  int least[2] = {0x7fffffff, 0x7fffffff};  // the least of A and of B
  u32 needs = 0;
  const auto look_at = [&](const Stripe* first, i64 count, int& side) {
#pragma unroll 8
    for (i64 i = threadIdx.x; i < count; i += STRICT_THREADS) {
      const Stripe stripe = first[i];
      side = stripe.sure < side ? stripe.sure : side;
      needs |= stripe.needs;
    }
  };
  look_at(stripes, stripes_a, least[0]);
  look_at(stripes + stripes_a, stripes_b, least[1]);
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int other = __shfl_xor_sync(~0u, least[side], distance);
      least[side] = other < least[side] ? other : least[side];
    }
  }
  needs = all_of_lanes(needs);
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    shared.least[0][warp] = least[0];
    shared.least[1][warp] = least[1];
    shared.needs[warp] = needs;
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < STRICT_THREADS / 32; ++i) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      least[side] = shared.least[side][i] < least[side] ? shared.least[side][i] : least[side];
    }
    needs |= shared.needs[i];
  }
  if ((needs & NEEDS_LOW) == 0 || static_cast<i64>(least[0]) + least[1] >= k + SURE_TERMS) return BY_FP16;
  return WIDE == 1 && (needs & NEEDS_FP32) == 0 && k >= LEAST_WIDE_K ? BY_BF16 : BY_FP32;
}

// Writes the tiles of an operand to three planes of bf16, which take the place of those of fp16; the blocks of the grid
// share them.
template <bool ALONG_K, int VECTOR>
__device__ __forceinline__ void split_wide(const float* source, i64 ld, i64 rows, i64 k, half_t* planes, i64 planes_ld,
                                           DecideShared& shared) {
  const i64 tiles = ceil_div(rows, SPLIT_TILE) * ceil_div(k, SPLIT_TILE);
  for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    __syncthreads();  // The tile before has been written.
    split_tile<3, ALONG_K, VECTOR, STRICT_THREADS, Rounded>(tile, source, ld, rows, k,
                                                            reinterpret_cast<bfloat_t*>(planes), planes_ld,
                                                            reinterpret_cast<unsigned char*>(&shared.strict));
  }
}

// Notes in `by` what multiplies, and does what is to be done before: planes of bf16, or the whole product.
__device__ __forceinline__ void decide_product(i64 m, i64 n, i64 k, Scalar alpha, const float* A, i64 lda,
                                               const float* B, i64 ldb, Scalar beta, Output* C, i64 ldc,
                                               const Stripe* stripes, i64 stripes_a, i64 stripes_b, half_t* planes_a,
                                               half_t* planes_b, i64 planes_ld, u32* by, DecideShared& shared) {
  const u32 decided = decide_by(stripes, stripes_a, stripes_b, k, shared);
  if (blockIdx.x == 0 && threadIdx.x == 0) *by = decided;
  if (WIDE == 1 && decided == BY_BF16) {
    split_wide<!TRANSPOSE_A, VA>(A, lda, m, k, planes_a, planes_ld, shared);
    split_wide<TRANSPOSE_B, VB>(B, ldb, n, k, planes_b, planes_ld, shared);
  } else if (decided == BY_FP32) {
    strict_product(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, shared.strict);
  }
}
