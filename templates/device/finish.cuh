// The kernel that adds an epilogue to a product that is in C already, and so has been rounded before. Needs the
// rendered constant FINISH_THREADS besides those of fused.cuh.
#pragma once

#include "mmtune/fused.cuh"

// C = activation(C + bias). Thread number t of all `threads` has the elements t, t + threads, … of C, row by row.
extern "C" __global__ void __launch_bounds__(FINISH_THREADS)
    finish(i64 m, i64 n, Scalar beta, Output* __restrict__ C, i64 ldc, i64 threads) {
  for (i64 i = static_cast<i64>(blockIdx.x) * FINISH_THREADS + threadIdx.x; i < m * n; i += threads) {
    const i64 row = i / n;
    const i64 column = i - row * n;
    Output* const c = C + row * ldc + column;
    assign(*c, finished(static_cast<Accumulator>(value_of(*c)), beta, row, column, true));
  }
}
