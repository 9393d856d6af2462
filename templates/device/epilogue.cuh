// Storing several neighbouring results of one row of C.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/numeric.cuh"

// c[j] = alpha * sums[j] + beta * c[j] for the first N columns of which `remaining` exist, ALIGNED elements at a time:
// c is aligned to that many elements and no group of them straddles the edge of C. With beta = 0, C is never read.
template <int N, int ALIGNED, class Element, class Accumulator, class Scalar>
__device__ inline void store_results(Element* c, const Accumulator* sums, Scalar alpha, Scalar beta, i64 remaining) {
  constexpr int WIDTH = ALIGNED < N ? ALIGNED : N;
  using Group = Vector<Element, WIDTH>;
#pragma unroll
  for (int j = 0; j < N; j += WIDTH) {
    if (j < remaining) {
      Group group = {};
      if (beta != Scalar(0)) group = *reinterpret_cast<const Group*>(c + j);
#pragma unroll
      for (int v = 0; v < WIDTH; ++v) store_result(&group.at[v], sums[j + v], alpha, beta);
      *reinterpret_cast<Group*>(c + j) = group;
    }
  }
}

// Writes N partial sums of which `remaining` exist.
template <int N, class Accumulator>
__device__ inline void store_partial(Accumulator* target, const Accumulator* sums, i64 remaining) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < remaining) target[j] = sums[j];
  }
}
