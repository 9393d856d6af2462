// What the producer of the family wgmma does: it fills stages by the tensor memory accelerator. Needs the family's
// rendered constants.
#pragma once

#include "mmtune/dependent.cuh"
#include "mmtune/pipeline.cuh"
#include "mmtune/wgmma_tile.cuh"

// A block's shares of an operand's tiles, EXTENT rows or columns of C by BK. Lines have LINE_BYTES, and those along m
// or n as many elements for each of BK steps, the last of them beyond the tile where it does not fill a line.
template <class Input, int EXTENT, bool SHARED, bool ALONG_K, int LINE_BYTES>
struct Shares {
  const ProductMap* map;
  int position;      // the tile's first row or column of C
  int share;         // the number of this block's share
  u32 blocks;        // the blocks of the cluster that need it, a bit each
  u32 sharers_log2;  // the binary logarithm of how many these are

  // Calls copy(line, column, row) for each box of the share of the step at k0: its first line in shared memory and its
  // coordinates in the map.
  template <class Copy>
  __device__ __forceinline__ void for_boxes(int k0, const Copy& copy) const {
    if constexpr (ALONG_K) {
      constexpr int MOST_ROWS = 256;  // of a box
      constexpr int ROWS = SHARED || EXTENT <= MOST_ROWS ? EXTENT : EXTENT / 2;
      const int begin = share * (EXTENT >> sharers_log2);
#pragma unroll
      for (int first = 0; first < EXTENT; first += ROWS) copy(begin + first, k0, position + begin + first);
    } else {
      constexpr int WIDTH = LINE_BYTES / sizeof(Input);
      const int begin = share * (BK >> sharers_log2);
#pragma unroll
      for (int first = 0; first < EXTENT; first += WIDTH) {
        copy(first / WIDTH * BK + begin, position + first, k0 + begin);
      }
    }
  }

  // Copies the share to all that need it.
  __device__ __forceinline__ void fetch(unsigned target, int k0, unsigned barrier) const {
    for_boxes(k0, [&](int line, int column, int row) {
      if constexpr (!SHARED) {
        copy_box(target + line * LINE_BYTES, map, barrier, column, row);
      } else {
        copy_box_to(static_cast<unsigned short>(blocks), target + line * LINE_BYTES, map, barrier, column, row);
      }
    });
  }

  // Asks L2 for the share.
  __device__ __forceinline__ void prefetch(int k0) const {
    for_boxes(k0, [&](int, int column, int row) { prefetch_box(map, column, row); });
  }
};
using SharesOfA = Shares<InputA, BM, SHARES_A, A_ALONG_K, LINE_A>;
using SharesOfB = Shares<InputB, BN, SHARES_B, B_ALONG_K, LINE_B>;

// This block's shares of the operands for a turn.
struct WorkShares {
  SharesOfA a;
  SharesOfB b;

  __device__ __forceinline__ WorkShares(const Call& call, const Work& work, const ClusterPlace& place)
      : a{call.map_a, work.row, place.n, place.same_rows, call.cluster_n_log2},
        b{call.map_b, work.column, place.m, place.same_columns, call.cluster_m_log2} {}
};

// Asks L2 for at most so many of the first stages, while what precedes this step may still run. What several clusters
// need, the first of them asks for.
__device__ __forceinline__ void prefetch(const Call& call, int stages) {
  const ClusterPlace place = call.place();
  Walk walk(call, place);
  if (stages == 0 || !walk.more()) return;
  const Work work = walk.next();
  const WorkShares shares(call, work, place);
#pragma unroll 1
  for (int step = 0; step < stages && step < STAGES && step < work.steps; ++step) {
    const int k0 = (work.first_step + step) * BK;
    if (work.column < BN << call.cluster_n_log2) shares.a.prefetch(k0);
    if (work.row < BM << call.cluster_m_log2) shares.b.prefetch(k0);
  }
}

__device__ __forceinline__ void produce(const Call& call, Shared& shared) {
  Ring<STAGES> ring;
  const ClusterPlace place = call.place();
  Walk walk(call, place);
  if constexpr (CLUSTERED) cluster_wait();  // the others' barriers are there
  while (walk.more()) {
    const Work work = walk.next();
    const WorkShares shares(call, work, place);
    wait_for_previous();  // The block has found its tile by now.
    if (!LATE && !call.is_late) launch_dependents();
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      const unsigned full = shared_address(&shared.full[ring.stage]);
      barrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
      barrier_expect(full, (HELD_A + HELD_B) * LINE);
      const int k0 = (work.first_step + step) * BK;
      shares.a.fetch(shared_address(shared.a[ring.stage]), k0, full);
      shares.b.fetch(shared_address(shared.b[ring.stage]), k0, full);
      ring.advance();
    }
    if (!LATE && call.is_late && !walk.more()) launch_dependents();
  }
  if constexpr (CLUSTERED) await_empty(ring, shared.empty);  // A block stays while others arrive at its barriers.
}
