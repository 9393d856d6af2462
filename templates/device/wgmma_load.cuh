// What the producer of the family wgmma does: it fills stages by the tensor memory accelerator. Needs the family's
// rendered constants.
#pragma once

#include "mmtune/dependent.cuh"
#include "mmtune/pipeline.cuh"
#include "mmtune/wgmma_tile.cuh"

// Copies this block's share of an operand's tile, EXTENT rows or columns of C by BK, to all that need it.
// Lines have LINE_BYTES, and those along m or n as many elements for each of BK steps.
template <class Input, int EXTENT, int SHARERS, bool ALONG_K, int LINE_BYTES>
__device__ __forceinline__ void fetch_tile(unsigned target, const ProductMap* map, int position, int k0, int share,
                                           unsigned short blocks, unsigned barrier) {
  const auto copy = [&](int line, int column, int row) {
    if constexpr (SHARERS == 1) {
      copy_box(target + line * LINE_BYTES, map, barrier, column, row);
    } else {
      copy_box_to(blocks, target + line * LINE_BYTES, map, barrier, column, row);
    }
  };
  if constexpr (ALONG_K) {
    constexpr int ROWS = EXTENT / SHARERS;
    constexpr int BOX = ROWS > 256 ? ROWS / 2 : ROWS;
#pragma unroll
    for (int first = 0; first < ROWS; first += BOX) copy(share * ROWS + first, k0, position + share * ROWS + first);
  } else {
    constexpr int STEPS = BK / SHARERS;
    constexpr int WIDTH = LINE_BYTES / sizeof(Input);
#pragma unroll
    for (int first = 0; first < EXTENT; first += WIDTH) {
      copy(first / WIDTH * BK + share * STEPS, position + first, k0 + share * STEPS);
    }
  }
}

// Whether operands are waited for, where they are first needed: by then a block has found its tile. A step that lowers
// flags before this one, without copying, has waited already.
constexpr bool WAITS_FOR_OPERANDS = STREAM == 0 || PACK == 1;

__device__ __forceinline__ void produce(const Call& call, Shared& shared) {
  Ring<STAGES> ring;
  const int rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int rank_m = rank % CLUSTER_M;
  const int rank_n = rank / CLUSTER_M;
  // Blocks of the same rows of C need the same tile of A, those of the same columns the same of B.
  unsigned short same_rows = 0;
  for (int i = 0; i < CLUSTER_N; ++i) same_rows |= 1 << (rank_m + i * CLUSTER_M);
  const unsigned short same_columns = ((1 << CLUSTER_M) - 1) << (rank_n * CLUSTER_M);
  Walk<STREAM == 1> walk(call, rank);
  if constexpr (CLUSTER > 1) cluster_wait();  // the others' barriers are there
  while (walk.more()) {
    const Work work = walk.next();
    if constexpr (WAITS_FOR_OPERANDS) wait_for_previous();
    if constexpr (!LATE) launch_dependents();
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      const unsigned full = shared_address(&shared.full[ring.stage]);
      barrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
      barrier_expect(full, (BM + BN) * LINE);
      const int k0 = (work.first_step + step) * BK;
      fetch_tile<InputA, BM, CLUSTER_N, A_ALONG_K, LINE_A>(shared_address(shared.a[ring.stage]), call.map_a, work.row,
                                                           k0, rank_n, same_rows, full);
      fetch_tile<InputB, BN, CLUSTER_M, B_ALONG_K, LINE_B>(shared_address(shared.b[ring.stage]), call.map_b,
                                                           work.column, k0, rank_m, same_columns, full);
      ring.advance();
    }
  }
  if constexpr (CLUSTER > 1) await_empty(ring, shared.empty);  // A block stays while others arrive at its barriers.
}
