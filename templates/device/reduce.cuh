// The second kernel where blocks share a tile's k. Needs the rendered constant REDUCE_THREADS and the types Output,
// Accumulator and Scalar.
#pragma once

#include "mmtune/dependent.cuh"
#include "mmtune/index.cuh"

// Where a thread finds the partial sums of its result of C, partial[part][m][n].
struct Reduction {
  const Accumulator* next;  // the next of the parts
  i64 stride;               // the distance from one part to the next

  // The sum of the next COUNT parts and what is there already; all are under way at once.
  template <int COUNT>
  __device__ __forceinline__ void add(Accumulator& sum) {
    Accumulator terms[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; ++i) terms[i] = next[i * stride];
    next += COUNT * stride;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) sum += terms[i];
  }
};

// All of so few parts. It waits for them itself, so that a processor has found this code before they are there.
template <int PARTS>
__device__ __forceinline__ Accumulator sum_of_few(Reduction reduction) {
  wait_for_previous();
  Accumulator sum = {};
  reduction.add<PARTS>(sum);
  return sum;
}

__device__ __forceinline__ Accumulator sum_of_many(Reduction reduction, int parts) {
  constexpr int AT_ONCE = 16;
  wait_for_previous();
  Accumulator sum = {};
#pragma unroll 1
  for (; parts >= AT_ONCE; parts -= AT_ONCE) reduction.add<AT_ONCE>(sum);
#pragma unroll 1
  for (; parts >= 4; parts -= 4) reduction.add<4>(sum);
#pragma unroll 1
  for (; parts > 0; --parts) reduction.add<1>(sum);
  return sum;
}

// The sum of all parts in order: the same bits every time.
__device__ __forceinline__ Accumulator sum_of_parts(const Reduction& reduction, int parts) {
  switch (parts) {
    case 2:
      return sum_of_few<2>(reduction);
    case 3:
      return sum_of_few<3>(reduction);
    case 4:
      return sum_of_few<4>(reduction);
    case 5:
      return sum_of_few<5>(reduction);
    case 6:
      return sum_of_few<6>(reduction);
    case 7:
      return sum_of_few<7>(reduction);
    case 8:
      return sum_of_few<8>(reduction);
    case 12:
      return sum_of_few<12>(reduction);
    default:
      return sum_of_many(reduction, parts);
  }
}

// Adds the partial sums of every element of C. One thread an element, in blocks of REDUCE_THREADS. What is stored is
// mend(sum, row, column).
template <class Mend>
__device__ __forceinline__ void reduce_parts(i64 m, i64 n, Scalar alpha, Scalar beta, Output* C, i64 ldc,
                                             const Accumulator* partial, int parts, const Mend& mend) {
  const i64 index = static_cast<i64>(blockIdx.x) * REDUCE_THREADS + threadIdx.x;
  if (index >= m * n) return;
  const i64 row = index / n, column = index % n;
  const Accumulator sum = sum_of_parts({partial + index, m * n}, parts);
  store_result(C + row * ldc + column, mend(sum, row, column), alpha, beta);
}

__device__ __forceinline__ void reduce_parts(i64 m, i64 n, Scalar alpha, Scalar beta, Output* C, i64 ldc,
                                             const Accumulator* partial, int parts) {
  reduce_parts(m, n, alpha, beta, C, ldc, partial, parts, [](Accumulator sum, i64, i64) { return sum; });
}
