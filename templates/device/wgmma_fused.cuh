// The overloads for wgmma_finish.cuh where a program has an epilogue: results are finished where they are made of sums,
// before they are stored or go to shared memory. Needs Sums, FRAGMENTS and SUMS of the family's tiles besides.
#pragma once

#include "mmtune/fused.cuh"
#include "mmtune/wgmma_finish.cuh"

__device__ __forceinline__ u32 is_unfinished(Scalar, Scalar) { return 1; }

// Applies the epilogue to COUNT results from number `first` on, a constant.
template <int COUNT>
__device__ __forceinline__ void apply_epilogue(const Target& target, Scalar beta, Sums& sums, int first, int row0,
                                               int column0) {
  for_each_in_c<COUNT, SUMS>(target, first, row0, column0, [&](int f, int i, int row, int column) {
    sums[f][i] = finished(sums[f][i], beta, row, column, true);
  });
}

template <int COUNT>
__device__ __forceinline__ void finish_each(const Target& target, Scalar alpha, Scalar beta, Sums& sums, int first,
                                            int row0, int column0) {
  finish_each<COUNT, FRAGMENTS, SUMS>(target, alpha, beta, sums, first, row0, column0);
  apply_epilogue<COUNT>(target, beta, sums, first, row0, column0);
}

template <int COLUMNS, int BUFFERS, int BYTES>
__device__ __forceinline__ void finish(const Target& target, Scalar alpha, Scalar beta,
                                       unsigned char (&buffers)[BUFFERS][BYTES], Sums& sums, int row0, int column0) {
  finish<COLUMNS, BUFFERS, BYTES, FRAGMENTS, SUMS, 160>(target, alpha, beta, buffers, sums, row0, column0);
  apply_epilogue<FRAGMENTS * SUMS>(target, beta, sums, 0, row0, column0);
}
