// Threads that share the sums of one tile of C: the warps along k of a block, the blocks of a cluster. Needs the
// rendered constant THREADS besides those of output.cuh.
#pragma once

#include "mmtune/output.cuh"
#include "mmtune/tma.cuh"

// A thread's sums, counted row by row, of which it finishes OWN where warps along k share them.
constexpr int OWN = TM * TN / WARPS_K;

// Adds the sums of the warps along k in their order: `own` becomes those from warp_along_k() * OWN on. They are handed
// over in partial[warp along k][sum][thread], one by one, for the reason that StoredSums gives.
__device__ __forceinline__ void add_warps_along_k(Value* partial, const Accumulator (&sum)[TM][TN],
                                                  Accumulator (&own)[OWN]) {
  static_assert(OWN % V == 0, "a thread finishes whole vectors");
  const int warp = warp_along_k();
  Value* const all = partial + threadIdx.x % TILE_THREADS;
  __syncthreads();  // the stages are done with
  // Also what a warp finishes itself: to find that in registers would take a copy of what follows for each warp, and
  // up to half of the compiler's time.
#pragma unroll
  for (int e = 0; e < TM * TN; ++e) all[(warp * (TM * TN) + e) * TILE_THREADS] = sum[e / TN][e % TN];
  __syncthreads();  // all is handed over
  const Value* const finished = all + warp * (OWN * TILE_THREADS);
#pragma unroll
  for (int i = 0; i < OWN; ++i) own[i] = {};
#pragma unroll
  for (int giver = 0; giver < WARPS_K; ++giver) {
#pragma unroll
    for (int i = 0; i < OWN; ++i) own[i] += finished[(giver * (TM * TN) + i) * TILE_THREADS];
  }
}

// Adds the sums of a cluster of SIZE blocks in the order of ranks and stores the results. Of the COUNT that each thread
// has, counted row by row from `first` on, a block finishes SHARE from rank * SHARE on. What others finish is handed
// over one by one, for the reason that StoredSums gives.
template <int SIZE, int COUNT>
__device__ __forceinline__ void reduce_cluster(Value* partial, const Accumulator* sum, int first,
                                               const Position& position, const TileOfC& output) {
  constexpr int SHARE = COUNT / SIZE;
  static_assert(SHARE * SIZE == COUNT, "equal shares");
  const int rank = cluster_rank();
  Value* const handed = partial + threadIdx.x;
  __syncthreads();  // what was there before is done with
#pragma unroll
  for (int owner = 0; owner < SIZE; ++owner) {  // A loop over all, not rank alone, gives sum constant indices.
    if (owner == rank) continue;
#pragma unroll
    for (int e = owner * SHARE; e < (owner + 1) * SHARE; ++e) handed[e * THREADS] = sum[e];
  }
  cluster_sync();  // all is handed over
  Accumulator total[SHARE] = {};
#pragma unroll
  for (int owner = 0; owner < SIZE; ++owner) {  // A loop over all, not rank alone, gives sum constant indices.
    if (owner != rank) continue;
#pragma unroll
    for (int r = 0; r < SIZE; ++r) {
      const unsigned theirs = remote_address(shared_address(handed), r);
#pragma unroll
      for (int i = 0; i < SHARE; ++i) {
        const int e = owner * SHARE + i;
        const unsigned offset = e * THREADS * static_cast<unsigned>(sizeof(Value));
        total[i] += r == owner ? sum[e] : load_remote<Value>(theirs + offset);
      }
    }
  }
  cluster_arrive();  // this block has read what it needs of the others
  store_run<SHARE>(total, first + rank * SHARE, position, output);
  cluster_wait();  // no block leaves while others read its shared memory
}
