// The second kernel where blocks share a tile's k. Needs the rendered constant REDUCE_THREADS and the types Output,
// Accumulator and Scalar.
#pragma once

#include "mmtune/dependent.cuh"
#include "mmtune/index.cuh"

// Adds the next TERMS of an element's partial sums, which lie `stride` apart; all are under way at once.
template <int TERMS>
__device__ __forceinline__ void add_parts(Accumulator& sum, const Accumulator*& next, i64 stride) {
  Accumulator terms[TERMS];
#pragma unroll
  for (int i = 0; i < TERMS; ++i) {
    terms[i] = *next;
    next += stride;
  }
#pragma unroll
  for (int i = 0; i < TERMS; ++i) sum += terms[i];
}

// Adds the partial sums of every element of C, partial[parts][m][n], in order: the same bits every time. One thread an
// element, in blocks of REDUCE_THREADS.
__device__ __forceinline__ void reduce_parts(i64 m, i64 n, Scalar alpha, Scalar beta, Output* C, i64 ldc,
                                             const Accumulator* partial, int parts) {
  constexpr int AT_ONCE = 8;
  const i64 index = static_cast<i64>(blockIdx.x) * REDUCE_THREADS + threadIdx.x;
  if (index >= m * n) return;
  Output* const c = C + index / n * ldc + index % n;  // a division takes time, meanwhile
  const Accumulator* next = partial + index;
  const i64 stride = m * n;
  wait_for_previous();
  Accumulator sum = static_cast<Accumulator>(-0.0);  // which changes nothing that is added to it
#pragma unroll 1
  for (; parts >= 2 * AT_ONCE; parts -= 2 * AT_ONCE) add_parts<2 * AT_ONCE>(sum, next, stride);
  if (parts >= AT_ONCE) add_parts<AT_ONCE>(sum, next, stride);
  switch (parts % AT_ONCE) {
    case 1:
      add_parts<1>(sum, next, stride);
      break;
    case 2:
      add_parts<2>(sum, next, stride);
      break;
    case 3:
      add_parts<3>(sum, next, stride);
      break;
    case 4:
      add_parts<4>(sum, next, stride);
      break;
    case 5:
      add_parts<5>(sum, next, stride);
      break;
    case 6:
      add_parts<6>(sum, next, stride);
      break;
    case 7:
      add_parts<7>(sum, next, stride);
      break;
    default:
      break;
  }
  store_result(c, sum, alpha, beta);
}
