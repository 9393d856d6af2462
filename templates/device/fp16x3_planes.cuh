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
// derivation. Other operands are left to planes of bf16 or to the CUDA cores (fp16x3_decide.cuh).
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
  const bool is_of_a = block_a >= 0 && block_a < blocks_a;
  const bool is_of_b = block_b >= 0 && block_b < blocks_b;
  if constexpr (TRANSPOSE_A != TRANSPOSE_B && VA == VB) {
    // Both are stored alike: written out once, a program compiles in seven eighths of the time.
    Split own = b;
    if (is_of_a) own = a;
    if (is_of_a || is_of_b) OfA::split(own, (is_of_a ? block_a : block_b) / OfA::BLOCKS, shared);
  } else if (is_of_a) {
    OfA::split(a, block_a / OfA::BLOCKS, shared);
  } else if (is_of_b) {
    OfB::split(b, block_b / OfB::BLOCKS, shared);
  }
}
