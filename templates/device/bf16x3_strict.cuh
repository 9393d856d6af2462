// Sums that planes leave NaN: an infinity of A meets parts of B that are zero, and the product of an infinity and zero
// is NaN. Whatever is NaN is computed again, by fused multiply-adds of A and B as they are, one after the other, so that
// it is what fp32 gives. Usual operands cost a comparison for each sum.
#pragma once

#include "mmtune/index.cuh"
#include "mmtune/numeric.cuh"

struct StrictSums {
  const InputA* A;
  i64 lda;
  const InputB* B;
  i64 ldb;
  i64 k;

  // The sum of C[row, column], which stays NaN once it is.
  __device__ __forceinline__ Accumulator at(i64 row, i64 column) const {
    const InputA* a = A + (TRANSPOSE_A ? row : row * lda);
    const InputB* b = B + (TRANSPOSE_B ? column * ldb : column);
    Accumulator sum = 0;
#pragma unroll 1
    for (i64 l = 0; l < k && sum == sum; ++l) {
      sum = fused_multiply_add(static_cast<Accumulator>(value_of(*a)), static_cast<Accumulator>(value_of(*b)), sum);
      a += TRANSPOSE_A ? lda : 1;
      b += TRANSPOSE_B ? 1 : ldb;
    }
    return sum;
  }
};
