// What the producer of products of planes does: it fills stages. Needs the family's rendered constants.
#pragma once

#include "mmtune/planes_tile.cuh"

constexpr int PRODUCER = CONSUMERS * WARPGROUP;  // the first thread of the warp, one of which fills stages

// What the thread that fills stages does first.
__device__ __forceinline__ void begin_stages(Shared& shared, const ProductMap* map_a, const ProductMap* map_b,
                                             const ProductMap* map_c) {
  prefetch_map(map_a);
  prefetch_map(map_b);
  if (STORE_BOXES) prefetch_map(map_c);
  for (int s = 0; s < STAGES; ++s) {
    barrier_init(shared_address(&shared.full[s]), 1);
    barrier_init(shared_address(&shared.empty[s]), CONSUMERS * (CLUSTER_M + CLUSTER_N - 1));
  }
  barrier_init_fence();
}

// Copies this block's share of all planes of an operand's tile to all that need it. The planes lie one below the
// other, `extent` rows each; `skipped` of them behind the first are left out.
template <int PLANES, int ROWS_OF_TILE, int SHARERS, int PLANE_BYTES>
__device__ __forceinline__ void fetch_planes(unsigned char (&tiles)[PLANES][PLANE_BYTES], const ProductMap* map,
                                             int extent, int row, int k0, int share, unsigned short blocks,
                                             unsigned barrier, int skipped) {
  constexpr int ROWS = ROWS_OF_TILE / SHARERS;
#pragma unroll
  for (int plane = 0; plane < PLANES; ++plane) {
    const unsigned target = shared_address(tiles[plane]) + share * (PLANE_BYTES / SHARERS);
    const int first = (plane > 0 ? plane + skipped : 0) * extent + row + share * ROWS;
    if constexpr (SHARERS == 1) {
      copy_box(target, map, barrier, k0, first);
    } else {
      copy_box_to(blocks, target, map, barrier, k0, first);
    }
  }
}

// The fetch of B as it is where it lies along n: boxes of BOX_COLUMNS columns and all steps, one below the other.
__device__ __forceinline__ void fetch_across_k(unsigned char* tile, const ProductMap* map, int column, int k0,
                                               int share, unsigned short blocks, unsigned barrier) {
  constexpr int STEPS = BK / CLUSTER_M;
#pragma unroll
  for (int first = 0; first < BN; first += BOX_COLUMNS) {
    const unsigned target = shared_address(tile) + (first / BOX_COLUMNS * BK + share * STEPS) * LINE;
    if constexpr (CLUSTER_M == 1) {
      copy_box(target, map, barrier, column + first, k0);
    } else {
      copy_box_to(blocks, target, map, barrier, column + first, k0 + share * STEPS);
    }
  }
}

// Stages with planes 0 and 1 of an operand that has several or, where is_wide, by turns planes 0 and 2, 0 and 1.
__device__ __forceinline__ void produce(const Extents& extents, const ProductMap* map_a, const ProductMap* map_b,
                                        Shared& shared, bool is_wide) {
  Ring<STAGES> ring;
  const int rank = own_rank();
  const int rank_m = rank % CLUSTER_M;
  const int rank_n = rank / CLUSTER_M;
  // Blocks of the same rows of C need the same tile of A, those of the same columns the same of B.
  unsigned short same_rows = 0;
  for (int i = 0; i < CLUSTER_N; ++i) same_rows |= 1 << (rank_m + i * CLUSTER_M);
  const unsigned short same_columns = ((1 << CLUSTER_M) - 1) << (rank_n * CLUSTER_M);
  if constexpr (CLUSTER > 1) cluster_wait();  // the others' barriers are there
  extents.for_each_turn([&](int turn) {
    const TilePlace tile = extents.place(turn);
    const int first_step = extents.first_step(turn);
    const int end_step = first_step + extents.steps(turn);
#pragma unroll 1
    for (int step = first_step; step < end_step; ++step) {
#pragma unroll 1
      for (int skipped = is_wide ? 1 : 0; skipped >= 0; --skipped) {
        const unsigned full = shared_address(&shared.full[ring.stage]);
        barrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
        barrier_expect(full, PLANES_A * BM * LINE_A + HELD_B * BN * LINE_B);
        fetch_planes<PLANES_A, BM, CLUSTER_N>(shared.a[ring.stage], map_a, extents.m, tile.row, step * BK, rank_n,
                                              same_rows, full, skipped);
        if constexpr (SWAP == 1 && !TRANSPOSE_B) {
          fetch_across_k(shared.b[ring.stage][0], map_b, tile.column, step * BK, rank_m, same_columns, full);
        } else {
          fetch_planes<HELD_B, BN, CLUSTER_M>(shared.b[ring.stage], map_b, extents.n, tile.column, step * BK, rank_m,
                                              same_columns, full, skipped);
        }
        ring.advance();
      }
    }
  });
  if constexpr (CLUSTER > 1) await_empty(ring, shared.empty);  // A block stays while others arrive at its barriers.
}
