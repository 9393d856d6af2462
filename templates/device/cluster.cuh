// Blocks of a cluster that share one tile of C. Needs the rendered constant THREADS besides those of output.cuh.
#pragma once

#include "mmtune/output.cuh"
#include "mmtune/tma.cuh"

// Adds the partial tiles of a cluster of SIZE blocks in the order of ranks and stores the results. Each block finishes
// SHARE of every thread's sums, counted row by row from rank * SHARE on. What others finish is handed over one by one,
// for the reason that StoredSums gives.
template <int SIZE>
__device__ __forceinline__ void reduce_cluster(Value* partial, const Accumulator (&sum)[TM][TN],
                                               const Position& position, const TileOfC& output) {
  constexpr int SHARE = TM * TN / SIZE;
  constexpr int WIDTH = SHARE < V ? SHARE : V;
  static_assert(SHARE * SIZE == TM * TN && SHARE % WIDTH == 0 && V % WIDTH == 0, "equal shares");
  const int rank = cluster_rank();
  Value* const handed = partial + threadIdx.x;
  __syncthreads();  // the stages are done with
#pragma unroll
  for (int owner = 0; owner < SIZE; ++owner) {  // A loop over all, not rank alone, gives sum constant indices.
    if (owner == rank) continue;
#pragma unroll
    for (int e = owner * SHARE; e < (owner + 1) * SHARE; ++e) handed[e * THREADS] = sum[e / TN][e % TN];
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
        total[i] += r == owner ? sum[e / TN][e % TN] : load_remote<Value>(theirs + offset);
      }
    }
  }
  cluster_arrive();  // this block has read what it needs of the others
  const int first = rank * SHARE;
#pragma unroll
  for (int i = 0; i < SHARE; i += WIDTH) {
    if constexpr (EXCHANGES && WIDTH == V) {
      store_exchanged(&total[i], position, (first + i) / TN, (first + i) % TN, output);
    } else {
      const int row = position.row((first + i) / TN);
      const int column = position.column((first + i) % TN);
      output.store<WIDTH>(output.at(row, column), &total[i], row < output.rows() ? output.columns() - column : 0);
    }
  }
  cluster_wait();  // no block leaves while others read its shared memory
}
