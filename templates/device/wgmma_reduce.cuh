// Parts of k of one tile of C, which are computed by blocks of a cluster. Needs the rendered constants of the family
// wgmma.
#pragma once

#include "mmtune/pipeline.cuh"
#include "mmtune/wgmma_tile.cuh"

// REDUCE = 1: hands over what other blocks of the tile add, and stores what this one does.
__device__ __forceinline__ void reduce_parts_in_cluster(const Call& call, Shared& shared, Sums& sums, int row0,
                                                        int column0, int rank, u32 unfinished) {
  constexpr int CONSUMER_THREADS = CONSUMERS * WARPGROUP;
  constexpr int PARTS = REDUCE == 1 ? SPLIT : 1;
  constexpr int SHARE = FRAGMENTS * SUMS / ADDERS;  // the share of a thread's sums of a block that adds
  static_assert(REDUCE == 0 || SHARE % 4 == 0, "sums are handed over by the four");
  const int thread = threadIdx.x;
  const unsigned complete = shared_address(&shared.complete);
  // Where the owner of number i of a share finds what a block has for it.
  const auto place = [&](int owner, int from, int i) {
    const int number = (from < owner ? from : from - 1) * SHARE + i;
    return (number / 4 * CONSUMER_THREADS + thread) * 4 + i % 4;
  };
#pragma unroll
  for (int owner = 0; owner < ADDERS; ++owner) {  // A loop over all, not rank alone, gives sums constant indices.
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
      store_remote(theirs + place(owner, rank, i) * 4, barrier, words);
    }
  }
  barrier_wait(complete, 0);  // No block leaves while others write its shared memory.
#pragma unroll
  for (int owner = 0; owner < ADDERS; ++owner) {
    if (owner != rank) continue;
    const int first = owner * SHARE;
    // All is read before the first store, past which the compiler moves no reading.
#pragma unroll
    for (int i = 0; i < SHARE; i += 4) {
      Accumulator totals[4] = {};
#pragma unroll
      for (int from = 0; from < PARTS; ++from) {
        Vector<Accumulator, 4> part;
        if (from != owner) {
          part = *reinterpret_cast<const Vector<Accumulator, 4>*>(&shared.received[place(owner, from, i)]);
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const int e = first + i + v;
          totals[v] += from == owner ? sums[e / SUMS][e % SUMS] : part.at[v];
        }
      }
#pragma unroll
      for (int v = 0; v < 4; ++v) sums[(first + i + v) / SUMS][(first + i + v) % SUMS] = totals[v];
    }
    if (unfinished) finish_each<SHARE>(call.target, call.alpha, call.beta, sums, first, row0, column0);
    store_each<SHARE>(call.target, sums, first, row0, column0);
  }
}
