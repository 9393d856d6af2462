// How rows whose elements lie a leading dimension apart are split.
#pragma once

#include "mmtune/fp16x3_split.cuh"

// Blocks that share a stripe: all their threads meet, which of them a block is, and what block `rank` has where `own` is
// here.
__device__ __forceinline__ void meet_sharers() {
  if constexpr (STRIPE_BLOCKS > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }
}
__device__ __forceinline__ int own_share() {
  if constexpr (STRIPE_BLOCKS > 1) return cluster_rank();
  return 0;
}
template <class T>
__device__ __forceinline__ T of_sharer(const T& own, int rank) {
  if constexpr (STRIPE_BLOCKS > 1) return load_remote<T>(remote_address(shared_address(&own), rank));
  return own;
}

// Rows whose elements lie `ld` apart: a cluster has a stripe of them, each block a share of the steps along k, in
// pieces that it holds. Lanes of a warp lie side by side along rows and, where that makes whole sectors of
// the planes, along k.
template <int VECTOR>
struct AcrossK {
  static constexpr int LANES = VECTOR == 4 ? 8 : 16;  // along rows
  static constexpr int ROWS = LANES * VECTOR;         // the rows of a stripe
  static constexpr int UNIT = PLANE_UNIT;
  static constexpr int HELD = SPLIT_HELD / VECTOR / UNIT;
  static constexpr int STEPS = 32 / LANES * UNIT;     // the steps of a warp at once
  static constexpr int SPAN = HELD * SPLIT_WARPS * STEPS;
  static constexpr int SHARE_UNIT = 64;  // steps of lines of 128 bytes of the planes
  static_assert(ROWS <= ACROSS_ROWS && SPLIT_WARPS >= STRIPE_BLOCKS, "threads for all rows of all blocks");

  const Split& split;
  SplitShared& shared;
  i64 row;  // the thread's first
  int end;  // the end of the block's steps
  const Held<VECTOR> held{shared};
  Findings findings = {};

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % LANES; }
  static __device__ __forceinline__ int step(int i) {
    return (i * SPLIT_WARPS + static_cast<int>(threadIdx.x) / 32) * STEPS +
           static_cast<int>(threadIdx.x) % 32 / LANES * UNIT;
  }

  __device__ __forceinline__ void load(int first) {
#pragma unroll 1
    for (int i = 0; i < HELD; ++i) {
      const int left = row < split.rows ? end - first - step(i) : 0;
      const float* source = split.source + (first + step(i)) * split.ld + row;
#pragma unroll
      for (int u = 0; u < UNIT; ++u) {
        held.ask(i * UNIT + u, u < left, source);
        source += split.ld;
      }
    }
    held.await();
  }
  __device__ __forceinline__ void store(Splitter (&splitters)[VECTOR], int first) {
    using Halves = Vector<half_t, UNIT>;
    if (row >= split.rows) return;
    const i64 to_low = split.rows * split.planes_ld;
#pragma unroll 1
    for (int i = 0; i < HELD; ++i) {
      const int at = first + step(i);
      if (at >= end) break;
      half_t* target = split.high(row) + at;
      Vector<float, VECTOR> unit[UNIT];
#pragma unroll
      for (int u = 0; u < UNIT; ++u) unit[u] = held[i * UNIT + u];
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        float elements[UNIT];
#pragma unroll
        for (int u = 0; u < UNIT; ++u) elements[u] = unit[u].at[v];
        Halves high, low;
        splitters[v].split(elements, high.at, low.at, findings);
        *reinterpret_cast<Halves*>(target) = high;
        *reinterpret_cast<Halves*>(target + to_low) = low;
        target += split.planes_ld;
      }
    }
    if (!findings.are_small) return;
    findings.are_small = false;
#pragma unroll 1
    for (int i = 0; i < HELD * UNIT; ++i) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        const float element[] = {held[i].at[v]};
        splitters[v].discount(element, findings);
      }
    }
  }

  // The largest magnitudes of whole rows, from those of this thread's elements; to shared.largest_of_rows[0].
  __device__ __forceinline__ void find_largest(u32 (&largest)[VECTOR]) {
    const int thread = threadIdx.x;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      largest[v] = largest_of_lanes<LANES>(largest[v]);
      if (thread % 32 < LANES) shared.largest[thread / 32][lane() * VECTOR + v] = largest[v];
    }
    __syncthreads();
    if (thread < ROWS) {
      u32 of_block = 0;
#pragma unroll
      for (int warp = 0; warp < SPLIT_WARPS; ++warp) of_block = larger(of_block, shared.largest[warp][thread]);
      shared.largest_of_block[thread] = of_block;
    }
    meet_sharers();
    const int rank = thread / ROWS;
    if (rank < STRIPE_BLOCKS) {
      shared.largest_of_rows[rank][thread % ROWS] = of_sharer(shared.largest_of_block[thread % ROWS], rank);
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      for (int other = 0; other < STRIPE_BLOCKS; ++other) {
        largest[v] = larger(largest[v], shared.largest_of_rows[other][lane() * VECTOR + v]);
      }
    }
  }

  // Notes what all blocks have counted.
  __device__ __forceinline__ void end_rows(i64 stripe, const Splitter (&splitters)[VECTOR]) {
    const int thread = threadIdx.x;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      const int sure = sum_of_lanes<LANES>(splitters[v].sure);
      if (thread % 32 < LANES) shared.sure[thread / 32][lane() * VECTOR + v] = sure;
    }
    note_needs(shared, findings);
    __syncthreads();
    const int of_stripe = thread % ROWS;
    if (thread < ROWS) shared.of_block[thread] = count_row(shared, thread, SPLIT_WARPS);
    meet_sharers();
    if (own_share() == 0 && thread < 32) {
      u32 largest = 0;
      Stripe of_row{0, 0};
#pragma unroll
      for (int rank = 0; rank < STRIPE_BLOCKS; ++rank) {
        of_row.sure += of_sharer(shared.of_block[of_stripe].sure, rank);
        of_row.needs |= of_sharer(shared.of_block[of_stripe].needs, rank);
        largest = larger(largest, shared.largest_of_rows[rank][of_stripe]);
      }
      end_stripe<ROWS>(split, stripe, largest, of_row);
    }
    meet_sharers();  // no block leaves while others read its shared memory
  }
};

template <int VECTOR>
__device__ __forceinline__ void split_across_k(const Split& split, i64 stripe, SplitShared& shared) {
  using Own = AcrossK<VECTOR>;
  const int k = static_cast<int>(split.k);
  const int share = static_cast<int>(ceil_div(k, STRIPE_BLOCKS * Own::SHARE_UNIT)) * Own::SHARE_UNIT;
  const int begin = own_share() * share;
  Own own{split, shared, stripe * Own::ROWS + Own::lane() * VECTOR, static_cast<int>(smaller(k, begin + share))};
  u32 largest[VECTOR] = {};
  int last = begin;
#pragma unroll 1
  for (int first = begin; first < own.end; first += Own::SPAN) {
    own.load(first);
#pragma unroll 4
    for (int i = 0; i < Own::HELD * Own::UNIT; ++i) note_largest<VECTOR>(own.held[i], largest);
    last = first;
  }
  own.find_largest(largest);
  Splitter splitters[VECTOR];
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) splitters[v].scale = RowScale(largest[v]).scale;
#pragma unroll 1
  for (int first = last; first >= begin; first -= Own::SPAN) {
    if (first != last) own.load(first);
    own.store(splitters, first);
  }
  own.end_rows(stripe, splitters);
}
