// Sums that other kernels are judged by: one block computes a tile of op(A) * op(B) in double, or modulo 2^32 for
// integers, and on request the sums of |a| * |b| that scale an error bound.
//
//      block  32 x 8 threads, a tile of 32 x 32 sums
//      thread (x, y)  sums of rows y, y + 8, y + 16, y + 24 in column x of the tile
//      k      in steps of 32 through shared memory, in ascending order
#pragma once

#include "mmtune/index.cuh"

constexpr int REFERENCE_TILE = 32;  // rows and columns of C per block
constexpr int REFERENCE_ROWS = 8;   // rows of threads
constexpr int REFERENCE_SUMS = REFERENCE_TILE / REFERENCE_ROWS;

// The type of exact sums for an accumulator's type.
template <class Accumulator>
struct ExactType {
  using type = double;
  static constexpr bool ROUNDS = true;
};

template <>
struct ExactType<u32> {
  using type = u32;
  static constexpr bool ROUNDS = false;  // The residue modulo 2^32 is all that counts.
};

template <class Accumulator>
struct ExactSum {
  typename ExactType<Accumulator>::type value;
  double magnitude;  // the sum of |a| * |b|; zero for integers, which need no error bound
};

// sums[s] gets the element [row0 + threadIdx.y + 8 s, column0 + threadIdx.x] of op(A)[m,k] * op(B)[k,n]; zero outside.
// All threads of a block of 32 x 8 call it; it contains barriers. Without MAGNITUDE, that member is zero.
template <bool TRANSPOSE_A, bool TRANSPOSE_B, bool MAGNITUDE, class InputA, class InputB, class Accumulator>
__device__ inline void exact_dot(i64 row0, i64 column0, i64 m, i64 n, i64 k, const InputA* A, i64 lda, const InputB* B,
                                 i64 ldb, ExactSum<Accumulator> (&sums)[REFERENCE_SUMS]) {
  using Value = typename ExactType<Accumulator>::type;
  __shared__ InputA a[REFERENCE_TILE][REFERENCE_TILE + 1];  // a column more, so that columns spread over the banks
  __shared__ InputB b[REFERENCE_TILE][REFERENCE_TILE + 1];
  const int x = threadIdx.x;
  const int y = threadIdx.y;

  for (auto& sum : sums) sum = {};
  for (i64 l0 = 0; l0 < k; l0 += REFERENCE_TILE) {
    for (int i = y; i < REFERENCE_TILE; i += REFERENCE_ROWS) {
      // Threads of a warp follow the contiguous extent of each operand.
      const int a_row = TRANSPOSE_A ? x : i, a_column = TRANSPOSE_A ? i : x;
      const int b_row = TRANSPOSE_B ? x : i, b_column = TRANSPOSE_B ? i : x;
      a[a_row][a_column] = element_or_zero<TRANSPOSE_A>(A, row0 + a_row, l0 + a_column, m, k, lda);
      b[b_row][b_column] = element_or_zero<TRANSPOSE_B>(B, l0 + b_row, column0 + b_column, k, n, ldb);
    }
    __syncthreads();
    for (int l = 0; l < REFERENCE_TILE; ++l) {
      const Value right = static_cast<Value>(value_of(b[l][x]));
#pragma unroll
      for (int s = 0; s < REFERENCE_SUMS; ++s) {
        const Value left = static_cast<Value>(value_of(a[y + s * REFERENCE_ROWS][l]));
        sums[s].value += left * right;
        if constexpr (MAGNITUDE && ExactType<Accumulator>::ROUNDS) sums[s].magnitude += fabs(left * right);
      }
    }
    __syncthreads();
  }
}
