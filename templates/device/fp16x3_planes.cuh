// How fp32 operands become planes of fp16, and when that is good enough.
//
// A row of op(A), or a column of op(B), is scaled by the power of two that brings its largest element into
// [2^14, 2^15). A scaled element x is the sum of high = fp16(x), low = fp16(x - high) and an error:
//
//     |x| >= 1/4    at most 2^-23 |x|: high and low have 22 bits and two signs
//     |x| <  1/4    at most 2^-25, half of the smallest fp16: 2^-39 of the row's largest element
//
// Errors of the first kind are as harmless as roundings of fp32 where a product has some terms of similar size. Those
// of the second kind, of `lossy` elements, matter where larger elements of the row meet only small ones of the column.
// Of the k terms of a product, at least sure(row) + sure(column) - k have two factors of 2^8 or more, where
//
//     sure = number of elements >= 2^8, less the number of lossy ones
//
// counts the losses already. Where that is SURE_TERMS or more for every product, none errs by more than 2^-26 sum |a b|
// besides. Rows of zeros ask for nothing, and neither do operands whose high parts are all. docs/accuracy.md has the
// derivation.
#pragma once

#include "mmtune/fp16x3_along_k.cuh"
#include "mmtune/fp16x3_across_k.cuh"

// The stripes of an operand as it is stored. BLOCKS share a stripe, and are a cluster if these are several.
template <bool ALONG_K, int VECTOR>
struct Stripes {
  static constexpr int BLOCKS = ALONG_K ? 1 : STRIPE_BLOCKS;

  static __device__ __forceinline__ void split(const Split& split, i64 stripe, SplitShared& shared) {
    if constexpr (ALONG_K) {
      split_along_k<VECTOR>(split, stripe, shared);
    } else {
      split_across_k<VECTOR>(split, stripe, shared);
    }
  }
};

// Splits the stripes of A and of B, which the blocks of the grid share.
__device__ __forceinline__ void split_stripes(const Split& a, const Split& b, i64 stripes_a, i64 stripes_b,
                                              SplitShared& shared) {
  using OfA = Stripes<!TRANSPOSE_A, VA>;
  using OfB = Stripes<TRANSPOSE_B, VB>;
  constexpr bool B_FIRST = OfA::BLOCKS < OfB::BLOCKS;  // Clusters begin where the grid's do.
  const i64 blocks_a = stripes_a * OfA::BLOCKS;
  const i64 blocks_b = stripes_b * OfB::BLOCKS;
  const i64 block_a = static_cast<i64>(blockIdx.x) - (B_FIRST ? blocks_b : 0);
  const i64 block_b = static_cast<i64>(blockIdx.x) - (B_FIRST ? 0 : blocks_a);
  if (block_a >= 0 && block_a < blocks_a) {
    OfA::split(a, block_a / OfA::BLOCKS, shared);
  } else if (block_b >= 0 && block_b < blocks_b) {
    OfB::split(b, block_b / OfB::BLOCKS, shared);
  }
}

// Whether all products of A and B are good enough by planes, from the stripes of both. For all THREADS of a block.
template <class SharedOfBlock>
__device__ __forceinline__ bool planes_fit(const Stripe* stripes, i64 stripes_a, i64 stripes_b, i64 k,
                                           SharedOfBlock& shared) {
  int least[2] = {0x7fffffff, 0x7fffffff};  // the least of A and of B
  int needs_low = 0;
  const auto look_at = [&](const Stripe* first, i64 count, int& side) {
#pragma unroll 4
    for (i64 i = threadIdx.x; i < count; i += THREADS) {
      const Stripe stripe = first[i];
      side = stripe.sure < side ? stripe.sure : side;
      needs_low |= stripe.needs_low;
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
    needs_low |= __shfl_xor_sync(~0u, needs_low, distance);
  }
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    shared.least[0][warp] = least[0];
    shared.least[1][warp] = least[1];
    shared.needs_low[warp] = needs_low;
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < THREADS / 32; ++i) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      least[side] = shared.least[side][i] < least[side] ? shared.least[side][i] : least[side];
    }
    needs_low |= shared.needs_low[i];
  }
  return needs_low == 0 || static_cast<i64>(least[0]) + least[1] >= k + SURE_TERMS;
}
