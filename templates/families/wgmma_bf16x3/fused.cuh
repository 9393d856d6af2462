// The overloads for wgmma_finish.cuh: results are finished where they are made of sums, before they go to shared
// memory.
#include "mmtune/planes_tile.cuh"

__device__ __forceinline__ u32 is_unfinished(Scalar, Scalar) { return 1; }

template <int COLUMNS, int BYTES>
__device__ __forceinline__ void finish(const Target& target, Scalar alpha, Scalar beta,
                                       unsigned char (&buffers)[2][BYTES], Sums& sums, int row0, int column0) {
  finish<COLUMNS, 2, BYTES, FRAGMENTS, SUMS>(target, alpha, beta, buffers, sums, row0, column0);
  for_each_in_c<FRAGMENTS * SUMS, SUMS>(target, 0, row0, column0, [&](int f, int i, int row, int column) {
    sums[f][i] = finished(sums[f][i], beta, row, column, true);
  });
}
