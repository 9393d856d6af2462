// A thread's TM x TN results of its block's tile of C: where they lie, and how operands in shared memory are multiplied
// into them. Needs the rendered constants BM, BN, TM, TN, LANES_N, ORDER and WARPS_K, and the type Accumulator.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/warp.cuh"

using Value = Accumulator;  // the type in shared memory: elements are widened once, when they are staged

constexpr int WIDE = 16 / sizeof(Value);
constexpr int V = WIDE < TM && WIDE < TN ? WIDE : (TM < TN ? TM : TN);
constexpr int LANES_M = 32 / LANES_N;
constexpr int WM = TM * LANES_M;
constexpr int WN = TN * LANES_N;
constexpr int WARPS_N = BN / WN;
constexpr int TILE_THREADS = (BM / TM) * (BN / TN);  // they have each result of the tile once

// One step along k of both operands.
struct Fragment {
  alignas(V * sizeof(Value)) Value a[TM];
  alignas(V * sizeof(Value)) Value b[TN];

  __device__ __forceinline__ void load(const Value* a_row, const Value* b_row) {
#pragma unroll
    for (int g = 0; g < TM / V; ++g) {
      *reinterpret_cast<Vector<Value, V>*>(&a[g * V]) =
          *reinterpret_cast<const Vector<Value, V>*>(a_row + g * LANES_M * V);
    }
#pragma unroll
    for (int g = 0; g < TN / V; ++g) {
      *reinterpret_cast<Vector<Value, V>*>(&b[g * V]) =
          *reinterpret_cast<const Vector<Value, V>*>(b_row + g * LANES_N * V);
    }
  }
};

__device__ __forceinline__ void clear(Accumulator (&sum)[TM][TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) sum[i][j] = 0;
  }
}

// The outer product; serpentine orders reuse the operand that a turn keeps.
__device__ __forceinline__ void accumulate(Accumulator (&sum)[TM][TN], const Fragment& f) {
  constexpr int OUTER = ORDER == 2 ? TN : TM;
  constexpr int INNER = ORDER == 2 ? TM : TN;
#pragma unroll
  for (int x = 0; x < OUTER; ++x) {
#pragma unroll
    for (int y = 0; y < INNER; ++y) {
      const int turned = ORDER >= 1 && x % 2 == 1 ? INNER - 1 - y : y;
      const int i = ORDER == 2 ? turned : x;
      const int j = ORDER == 2 ? x : turned;
      sum[i][j] += f.a[i] * f.b[j];
    }
  }
}

// The number of this thread's warp among the WARPS_K that have the same results and multiply other steps along k of a
// stage.
__device__ __forceinline__ int warp_along_k() { return WARPS_K == 1 ? 0 : threadIdx.x / TILE_THREADS; }

// Where a thread's results lie in the block's tile.
struct Position {
  int row0;
  int column0;

  __device__ __forceinline__ Position() {
    const int warp = (WARPS_K == 1 ? threadIdx.x : threadIdx.x % TILE_THREADS) / 32;
    const int lane = threadIdx.x % 32;
    // Eight neighbouring lanes hold two columns and four rows of lanes, which keeps 16-byte reads conflict free.
    const int lane_n = 2 * (lane / (2 * LANES_M)) + lane % 2;
    const int lane_m = lane / 2 % LANES_M;
    row0 = warp / WARPS_N * WM + lane_m * V;
    column0 = warp % WARPS_N * WN + lane_n * V;
  }
  // How far a result lies from the thread's first.
  static __device__ constexpr int down(int i) { return i / V * (LANES_M * V) + i % V; }
  static __device__ constexpr int right(int j) { return j / V * (LANES_N * V) + j % V; }

  __device__ __forceinline__ int row(int i) const { return row0 + down(i); }
  __device__ __forceinline__ int column(int j) const { return column0 + right(j); }
};

// V neighbouring results of a row, in exchange for one of each of V rows that lanes beside this one have: when these
// lanes store, one row after the other, each store of a warp writes neighbours. As they were, it would write one of
// every V, and sectors of 32 bytes V times.
struct Exchanged {
  Accumulator at[V];

  __device__ __forceinline__ explicit Exchanged(const Accumulator* results) {
#pragma unroll
    for (int v = 0; v < V; ++v) at[v] = results[v];
    transpose_lanes<NEXT_ROW>(at);
  }

  // Where the first of them lies, if it was position.row(i) and position.column(j) before; V rows further down each
  // time.
  static __device__ __forceinline__ int row(const Position& position, int i) { return position.row(i) - turn() * V; }
  static __device__ __forceinline__ int column(const Position& position, int j) { return position.column(j) + turn(); }

 private:
  static constexpr int NEXT_ROW = 2;  // lanes to that with the next rows, see Position
  static_assert(LANES_M % V == 0, "as many lanes have the same columns");
  static __device__ __forceinline__ int turn() { return threadIdx.x / NEXT_ROW % V; }
};
