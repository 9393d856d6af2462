// Parts of k of one tile of C, which are computed by blocks of a cluster. Needs the rendered constants of the family
// wgmma.
#pragma once

#include "mmtune/epilogue.cuh"
#include "mmtune/pipeline.cuh"
#include "mmtune/wgmma_tile.cuh"

// REDUCE = 1: hands over what other blocks of the tile add, and stores what this one does.
__device__ __forceinline__ void reduce_parts_in_cluster(const Call& call, Shared& shared, const Sums& sums, int row0,
                                                        int column0, int rank) {
  constexpr int CONSUMER_THREADS = CONSUMERS * WARPGROUP;
  constexpr int PARTS = REDUCE == 1 ? SPLIT : 1;
  constexpr int SHARE = FRAGMENTS * SUMS / ADDERS;  // the share of a thread's sums of a block that adds
  constexpr int WIDTH = STORE_BOXES && SWAP == 0 ? 2 : 1;  // the columns of a row that are stored at once
  static_assert(REDUCE == 0 || SHARE % 4 == 0, "sums are handed over by the four");
  const int thread = threadIdx.x;
  const unsigned complete = shared_address(&shared.complete);
  cluster_wait();  // the others' barriers are there
  if (thread == 0) barrier_expect(complete, rank < ADDERS ? (PARTS - 1) * SHARE * CONSUMER_THREADS * 4 : 0);
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
#pragma unroll
    for (int i = 0; i < SHARE; i += WIDTH) {
      Accumulator totals[WIDTH] = {};
#pragma unroll
      for (int v = 0; v < WIDTH; ++v) {
        const int e = owner * SHARE + i + v;
#pragma unroll
        for (int from = 0; from < PARTS; ++from) {
          totals[v] += from == owner ? sums[e / SUMS][e % SUMS] : shared.received[place(owner, from, i + v)];
        }
      }
      const Place at((owner * SHARE + i) / SUMS, (owner * SHARE + i) % SUMS);
      const int row = row0 + at.row;
      const int column = column0 + at.column;
      if (row < call.m && (!IS_PARTIAL || at.column < BN)) {
        store_results<WIDTH, WIDTH>(call.target.C + row * call.target.ldc + column, totals, call.alpha, call.beta,
                                    call.n - column);
      }
    }
  }
}
