// How rows that lie along k are split.
#pragma once

#include "mmtune/fp16x3_split.cuh"

// Rows that lie along k: `team` threads, a warp or the block, have `rows` of them at a time, in pieces that the block
// holds. Nothing is read twice of rows that are one piece; of several, there is one at a time.
template <int VECTOR>
struct AlongK {
  using Halves = Vector<half_t, VECTOR>;

  const Split& split;
  SplitShared& shared;
  int team, rows;
  const Held<VECTOR> held{shared};
  Findings findings = {};

  __device__ __forceinline__ int own() const { return (threadIdx.x & (team - 1)) * VECTOR; }
  __device__ __forceinline__ int step() const { return team * VECTOR; }  // between a thread's vectors
  // A thread's vectors of a row, and the elements of a piece of it.
  __device__ __forceinline__ int count() const { return SPLIT_HELD / VECTOR / rows; }
  __device__ __forceinline__ int span() const { return SPLIT_HELD * team / rows; }
  __device__ __forceinline__ int left(i64 first) const { return static_cast<int>(split.k - first) - own(); }
  // The same of what is stored: zeros follow the row up to a multiple of PLANE_UNIT.
  __device__ __forceinline__ int left_to_store(i64 first) const {
    return static_cast<int>(ceil_div(split.k, PLANE_UNIT) * PLANE_UNIT - first) - own();
  }

  // The piece of all rows that begins at step `first`.
  __device__ __forceinline__ void load(i64 row, i64 first) {
#pragma unroll 1
    for (int r = 0; r < rows; ++r) {
      const float* source = split.source + (row + r) * split.ld + first + own();
      const int left_of_row = row + r < split.rows ? left(first) : 0;
#pragma unroll 4
      for (int i = 0; i < count(); ++i) {
        held.ask(r * count() + i, i * step() < left_of_row, source);
        source += step();
      }
    }
    held.await();
  }
  __device__ __forceinline__ u32 largest_held(int r) const {
    u32 largest[VECTOR] = {};
#pragma unroll 4
    for (int i = 0; i < count(); ++i) note_largest<VECTOR>(held[r * count() + i], largest);
#pragma unroll
    for (int v = 1; v < VECTOR; ++v) largest[0] = larger(largest[0], largest[v]);
    return largest[0];
  }
  __device__ __forceinline__ void store(Splitter& splitter, i64 row, int r, i64 first) {
    const i64 to_low = split.rows * split.planes_ld;
    half_t* target = split.high(row) + first + own();
#pragma unroll 4
    for (int i = 0; i < count(); ++i) {
      if (i * step() >= left_to_store(first)) break;
      Halves high, low;
      splitter.split(held[r * count() + i].at, high.at, low.at, findings);
      *reinterpret_cast<Halves*>(target) = high;
      *reinterpret_cast<Halves*>(target + to_low) = low;
      target += step();
    }
    if (!findings.are_small) return;
    findings.are_small = false;
#pragma unroll 1
    for (int i = 0; i < count(); ++i) splitter.discount(held[r * count() + i].at, findings);
  }

  // Number r of the rows that are held, from step `last` on. `largest` is that of its earlier pieces.
  __device__ __forceinline__ void split_row(i64 row, int of_stripe, int r, i64 last, u32 largest) {
    const int warp = (threadIdx.x & (team - 1)) / 32;
    largest = largest_of_lanes<1>(larger(largest, largest_held(r)));
    if (threadIdx.x % 32 == 0) shared.largest[warp][of_stripe] = largest;
    if (team > 32) {
      __syncthreads();
#pragma unroll 1
      for (int w = 0; w < SPLIT_WARPS; ++w) largest = larger(largest, shared.largest[w][of_stripe]);
    }
    Splitter splitter{RowScale(largest).scale};
#pragma unroll 1
    for (i64 first = last; row < split.rows && first >= 0; first -= span()) {
      if (first != last) load(row, first);
      store(splitter, row, r, first);
    }
    const int sure = sum_of_lanes<1>(splitter.sure);
    if (threadIdx.x % 32 != 0) return;
    shared.sure[warp][of_stripe] = sure;
    if (warp == 0) shared.largest_of_block[of_stripe] = largest;
  }

  // These rows, number `of_stripe` and those behind it of the stripe, which are there or not.
  __device__ __forceinline__ void split_rows(i64 row, int of_stripe) {
    u32 largest = 0;
    i64 last = 0;
#pragma unroll 1
    for (; last + span() < split.k; last += span()) {
      load(row, last);
      largest = larger(largest, largest_held(0));
    }
    load(row, last);
#pragma unroll 1
    for (int r = 0; r < rows; ++r) split_row(row + r, of_stripe + r, r, last, largest);
  }

  __device__ __forceinline__ void split_stripe(i64 stripe) {
    const int first = team == 32 ? threadIdx.x / 32 : 0;
    const int end = team == 32 ? first + 1 : ALONG_ROWS;
#pragma unroll 1
    for (int row = first; row < end; row += rows) split_rows(stripe * ALONG_ROWS + row, row);
    note_needs(shared, findings);
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const int row = threadIdx.x % ALONG_ROWS;
    end_stripe<ALONG_ROWS>(split, stripe, shared.largest_of_block[row], count_row(shared, row, team / 32));
  }
};

template <int VECTOR>
__device__ __forceinline__ void split_along_k(const Split& split, i64 stripe, SplitShared& shared) {
  static_assert(SPLIT_WARPS == ALONG_ROWS, "a warp has a row");
  const int team = split.k <= SPLIT_HELD * 32 ? 32 : SPLIT_THREADS;
  const int rows = team == 32 || split.k > SPLIT_HELD * SPLIT_THREADS / 4 ? 1 : 4;
  AlongK<VECTOR>{split, shared, team, rows}.split_stripe(stripe);
}
