// The second kernel where blocks share a tile's k. Needs the rendered constant REDUCE_THREADS and the types Output,
// Accumulator and Scalar.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/index.cuh"

// What a block adds: as many results as its threads have 16 bytes of sums.
constexpr int REDUCE_OWN = 16 / sizeof(Accumulator);  // results of a thread
constexpr int REDUCE_BLOCK = REDUCE_OWN * REDUCE_THREADS;

// Adds the `parts` partial sums of a thread's results, partial[part][m][n], in order: the same bits every time. A
// thread has neighbours, which are read at once, or results REDUCE_THREADS apart.
template <bool NEIGHBOURS>
__device__ __forceinline__ void reduce_own(i64 m, i64 n, Scalar alpha, Scalar beta, Output* C, i64 ldc,
                                           const Accumulator* partial, int parts) {
  constexpr int AT_ONCE = 8;  // parts under way
  constexpr int STEP = NEIGHBOURS ? 1 : REDUCE_THREADS;
  const i64 results = m * n;
  const i64 first = static_cast<i64>(blockIdx.x) * REDUCE_BLOCK + threadIdx.x * (NEIGHBOURS ? REDUCE_OWN : 1);
  Output* c[REDUCE_OWN];  // divisions take time, meanwhile
#pragma unroll
  for (int i = 0; i < REDUCE_OWN; ++i) {
    const i64 at = NEIGHBOURS ? first : first + i * STEP;
    const i64 row = at / n;
    c[i] = C + row * ldc + (at - row * n) + (NEIGHBOURS ? i : 0);
  }
  const Accumulator* next = partial + first;
  wait_for_previous();
  Accumulator sums[REDUCE_OWN] = {};
#pragma unroll 1
  for (; parts > 0; parts -= AT_ONCE) {
    Accumulator terms[AT_ONCE][REDUCE_OWN];
#pragma unroll
    for (int p = 0; p < AT_ONCE; ++p) {
      if constexpr (NEIGHBOURS) {
        const auto four = load_if<REDUCE_OWN>(p < parts && first < results, next);
#pragma unroll
        for (int i = 0; i < REDUCE_OWN; ++i) terms[p][i] = four.at[i];
      } else {
#pragma unroll
        for (int i = 0; i < REDUCE_OWN; ++i) {
          terms[p][i] = load_if<1>(p < parts && first + i * STEP < results, next + i * STEP).at[0];
        }
      }
      next += results;
    }
#pragma unroll
    for (int p = 0; p < AT_ONCE; ++p) {
#pragma unroll
      for (int i = 0; i < REDUCE_OWN; ++i) sums[i] += terms[p][i];
    }
  }
#pragma unroll
  for (int i = 0; i < REDUCE_OWN; ++i) {
    if (first + i * STEP < results) store_result(c[i], sums[i], alpha, beta);
  }
}

__device__ __forceinline__ void reduce_parts(i64 m, i64 n, Scalar alpha, Scalar beta, Output* C, i64 ldc,
                                             const Accumulator* partial, int parts) {
  if (n % REDUCE_OWN == 0) {  // neighbours are in one row, and aligned
    reduce_own<true>(m, n, alpha, beta, C, ldc, partial, parts);
  } else {
    reduce_own<false>(m, n, alpha, beta, C, ldc, partial, parts);
  }
}
