// Storing several neighbouring results of one row of C.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/numeric.cuh"

// c[j] = alpha * sums[j] + beta * c[j] for the first N columns of which `remaining` exist (none if it is not positive),
// ALIGNED elements at a time: c is aligned to that many elements and no group of them straddles the edge of C. With
// beta = 0, C is never read.
template <int N, int ALIGNED, class Output, class Accumulator, class Scalar>
__device__ inline void store_results(Output* c, const Accumulator* sums, Scalar alpha, Scalar beta, int remaining) {
  constexpr int WIDTH = ALIGNED < N ? ALIGNED : N;
#pragma unroll
  for (int j = 0; j < N; j += WIDTH) {
    const bool valid = j < remaining;
    Vector<Output, WIDTH> group = load_if<WIDTH>(valid && beta != Scalar(0), c + j);
#pragma unroll
    for (int v = 0; v < WIDTH; ++v) {
      // What was not read is zero, so that beta = 0 needs no branch here.
      assign(group.at[v], with_addend(scaled(static_cast<Accumulator>(alpha), sums[j + v]), static_cast<Accumulator>(beta),
                                      static_cast<Accumulator>(value_of(group.at[v]))));
    }
    store_if(valid, c + j, group);
  }
}

// Writes N partial sums of which `remaining` exist, aligned as the results of store_results().
template <int N, int ALIGNED, class Accumulator>
__device__ inline void store_partial(Accumulator* target, const Accumulator* sums, i64 remaining) {
  constexpr int WIDTH = ALIGNED < N ? ALIGNED : N;
#pragma unroll
  for (int j = 0; j < N; j += WIDTH) {
    Vector<Accumulator, WIDTH> group;
#pragma unroll
    for (int v = 0; v < WIDTH; ++v) group.at[v] = sums[j + v];
    store_if(j < remaining, target + j, group);
  }
}
