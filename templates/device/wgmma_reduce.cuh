// Parts of k of one tile of C, which are computed by blocks of a cluster. Needs the rendered constants of the family
// wgmma.
#pragma once

#include "mmtune/pipeline.cuh"
#include "mmtune/wgmma_tile.cuh"

// REDUCE = 1: hands over what other blocks of the tile add, and stores what this one does.
__device__ __forceinline__ void reduce_parts_in_cluster(const Call& call, Shared& shared, const Sums& sums, int row0,
                                                        int column0, int rank) {
  constexpr int CONSUMER_THREADS = CONSUMERS * WARPGROUP;
  constexpr int PARTS = REDUCE == 1 ? SPLIT : 1;
  constexpr int SHARE = FRAGMENTS * SUMS / PARTS;  // a block's share of a thread's sums
  static_assert(REDUCE == 0 || SHARE % 4 == 0, "sums are handed over by the four");
  const int thread = threadIdx.x;
  const unsigned complete = shared_address(&shared.complete);
  cluster_wait();  // the others' barriers are there
  if (thread == 0) barrier_expect(complete, (PARTS - 1) * SHARE * CONSUMER_THREADS * 4);
  const auto place = [&](int from, int i) { return ((from * SHARE + i) / 4 * CONSUMER_THREADS + thread) * 4 + i % 4; };
#pragma unroll
  for (int owner = 0; owner < PARTS; ++owner) {  // A loop over all, not rank alone, gives sums constant indices.
    if (owner == rank) continue;
    const unsigned theirs = remote_address(shared_address(shared.received), owner);
    const unsigned barrier = remote_address(complete, owner);
#pragma unroll
    for (int i = 0; i < SHARE; i += 4) {
      u32 words[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int e = owner * SHARE + i + j;
        words[j] = __builtin_bit_cast(u32, sums[e / SUMS][e % SUMS]);
      }
      store_remote(theirs + place(rank, i) * 4, barrier, words);
    }
  }
  barrier_wait(complete, 0);  // No block leaves while others write its shared memory.
#pragma unroll
  for (int owner = 0; owner < PARTS; ++owner) {
    if (owner != rank) continue;
#pragma unroll
    for (int i = 0; i < SHARE; ++i) {
      const int e = owner * SHARE + i;
      Accumulator sum = 0;
#pragma unroll
      for (int from = 0; from < PARTS; ++from) {
        sum += from == owner ? sums[e / SUMS][e % SUMS] : shared.received[place(from, i)];
      }
      const Place at(e / SUMS, e % SUMS);
      const int row = row0 + at.row;
      const int column = column0 + at.column;
      if (row < call.m && column < call.n) {
        store_result(call.target.C + row * call.target.ldc + column, sum, call.alpha, call.beta);
      }
    }
  }
}
