// How the blocks that share a tile of C divide its steps along k. Needs the rendered constant SPLIT.
//
// SPLIT = 1: they do not. SPLIT > 1: so many blocks of a cluster. SPLIT = 0: as many as the launch says, whose sums go
// to the workspace and are added by reduce(): one program for all numbers. Where a block has one part of one tile, its
// coordinates are part and tile then: a division would take a good part of what comes before the first load. Parts of
// a tile are neighbours, which was measured to be faster than neighbouring tiles.
#pragma once

#include "mmtune/index.cuh"

struct Share {
  u32 tile;  // the number of a tile of C
  u32 part;  // the number of a part of the tile's steps along k
};

constexpr u32 CLUSTER_PARTS = SPLIT > 1 ? SPLIT : 1;  // the parts of a tile, whose blocks form a cluster

// This block's, of those that have one part of one tile each.
__device__ __forceinline__ Share share_of_block() {
  if constexpr (SPLIT == 0) return {blockIdx.y, blockIdx.x};
  return {blockIdx.x / CLUSTER_PARTS, blockIdx.x % CLUSTER_PARTS};
}

// How many of a tile's `k_tiles` a part has; the last ones may have fewer or none. What the launch says counts where
// SPLIT = 0.
__device__ __forceinline__ i64 k_tiles_of_part(i64 k_tiles, i64 at_launch) {
  return SPLIT == 0 ? at_launch : ceil_div(k_tiles, CLUSTER_PARTS);
}
