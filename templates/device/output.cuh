// From a thread's sums to C. Needs the rendered constants BM, BN and VC besides those of thread_tile.cuh, and the types
// Output and Scalar.
#pragma once

#include "mmtune/epilogue.cuh"
#include "mmtune/index.cuh"
#include "mmtune/thread_tile.cuh"

// The block's tile of C and what is done to it.
struct TileOfC {
  i64 m, n;
  i64 first_row, first_column;
  Scalar alpha, beta;
  Output* C;
  i64 ldc;

  // As much of the tile as C has.
  __device__ __forceinline__ int rows() const { return static_cast<int>(smaller(m - first_row, BM)); }
  __device__ __forceinline__ int columns() const { return static_cast<int>(smaller(n - first_column, BN)); }

  __device__ __forceinline__ Output* at(int row, int column) const {
    return C + (first_row + row) * ldc + first_column + column;
  }

  // N neighbouring results of a row, of which `remaining` exist.
  template <int N>
  __device__ __forceinline__ void store(Output* c, const Accumulator* sums, int remaining) const {
    store_results<N, VC>(c, sums, alpha, beta, remaining);
  }
};

// Stores all results of a thread.
__device__ __forceinline__ void store_tile(const Accumulator (&sum)[TM][TN], const Position& position,
                                           const TileOfC& output) {
  const int rows = output.rows() - position.row0;
  const int columns = output.columns() - position.column0;
  Output* c = output.at(position.row0, position.column0);
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const bool exists = Position::down(i) < rows;
#pragma unroll
    for (int j = 0; j < TN; j += V) {
      output.store<V>(c + Position::right(j), &sum[i][j], exists ? columns - Position::right(j) : 0);
    }
    c += (Position::down(i + 1) - Position::down(i)) * output.ldc;  // cheaper to compile than products
  }
}

// The same for one of several parts of k: to partial[part][m][n], as they are.
__device__ __forceinline__ void store_partial_tile(const Accumulator (&sum)[TM][TN], const Position& position,
                                                   const TileOfC& output, Accumulator* partial, int part) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += V) {
      const i64 row = output.first_row + position.row(i);
      const i64 column = output.first_column + position.column(j);
      if (row < output.m) {
        store_partial<V>(partial + (part * output.m + row) * output.n + column, &sum[i][j], output.n - column);
      }
    }
  }
}
