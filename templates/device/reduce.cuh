// The second kernel where blocks share a tile's k. Needs the rendered constant REDUCE_THREADS and the types Output,
// Accumulator and Scalar.
#pragma once

#include "mmtune/dependent.cuh"
#include "mmtune/index.cuh"

// Adds the PARTS partial sums of every element of C, partial[PARTS][m][n], in order: the same bits every time. One
// thread an element, in blocks of REDUCE_THREADS.
template <int PARTS>
__device__ __forceinline__ void reduce_parts(i64 m, i64 n, Scalar alpha, Scalar beta, Output* C, i64 ldc,
                                             const Accumulator* partial) {
  const i64 index = static_cast<i64>(blockIdx.x) * REDUCE_THREADS + threadIdx.x;
  if (index >= m * n) return;
  Output* const c = C + index / n * ldc + index % n;  // a division takes time, meanwhile
  wait_for_previous();
  Accumulator sum = partial[index];
  for (int part = 1; part < PARTS; ++part) sum += partial[part * m * n + index];
  store_result(c, sum, alpha, beta);
}
