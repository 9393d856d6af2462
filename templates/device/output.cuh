// Stores of a thread's sums. Needs the rendered constants BM, BN and VC besides those of thread_tile.cuh, and the types
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

  // The part of the tile that C has.
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

// Whether results can only be stored one by one, or by fewer than a thread has side by side.
constexpr bool EXCHANGES = VC < V;

// V neighbouring results of the row and column `position.row(i)` and `position.column(j)`.
__device__ __forceinline__ void store_exchanged(const Accumulator* sums, const Position& position, int i, int j,
                                                const TileOfC& output) {
  const Exchanged exchanged(sums);
  const int rows = output.rows() - Exchanged::row(position, i);
  const int columns = output.columns() - Exchanged::column(position, j);
  Output* c = output.at(Exchanged::row(position, i), Exchanged::column(position, j));
#pragma unroll
  for (int v = 0; v < V; ++v) {
    output.store<1>(c, &exchanged.at[v], v * V < rows ? columns : 0);
    c += V * output.ldc;
  }
}

// Stores all results of a thread.
__device__ __forceinline__ void store_tile(const Accumulator (&sum)[TM][TN], const Position& position,
                                           const TileOfC& output) {
  if constexpr (EXCHANGES) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += V) store_exchanged(&sum[i][j], position, i, j, output);
    }
  } else {
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
}

// Stores COUNT results of a thread, counted row by row from `first` on.
template <int COUNT>
__device__ __forceinline__ void store_run(const Accumulator* results, int first, const Position& position,
                                          const TileOfC& output) {
  constexpr int WIDTH = COUNT < V ? COUNT : V;
  static_assert(COUNT % WIDTH == 0 && V % WIDTH == 0, "a run is whole vectors or a part of one");
#pragma unroll
  for (int e = 0; e < COUNT; e += WIDTH) {
    const int i = (first + e) / TN, j = (first + e) % TN;
    if constexpr (EXCHANGES && WIDTH == V) {
      store_exchanged(&results[e], position, i, j, output);
    } else {
      const int row = position.row(i), column = position.column(j);
      output.store<WIDTH>(output.at(row, column), &results[e], row < output.rows() ? output.columns() - column : 0);
    }
  }
}

// The same for one of several parts of k: to partial[part][m][n], as they are.
template <int COUNT>
__device__ __forceinline__ void store_partial_run(const Accumulator* results, int first, const Position& position,
                                                  const TileOfC& output, Accumulator* partial, int part) {
  Accumulator* const tile = partial + (part * output.m + output.first_row) * output.n + output.first_column;
#pragma unroll
  for (int e = 0; e < COUNT; e += V) {
    const Exchanged exchanged(&results[e]);
    const int row = Exchanged::row(position, (first + e) / TN);
    const int column = Exchanged::column(position, (first + e) % TN);
    const bool exists = column < output.columns();
    Accumulator* target = tile + row * output.n + column;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const Vector<Accumulator, 1> one{{exchanged.at[v]}};
      store_if(exists && row + v * V < output.rows(), target, one);
      target += V * output.n;
    }
  }
}
