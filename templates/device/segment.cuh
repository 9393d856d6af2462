// How a block walks along k. Needs the rendered constants BK and STAGES.
#pragma once

#include "mmtune/index.cuh"

// A run of tiles along k.
struct Segment {
  i64 k_begin;
  int tiles;
  int last_depth;  // steps of the last tile

  // `count` tiles of BK steps from number `first` on, as far as k reaches.
  __device__ __forceinline__ Segment(i64 k, i64 first, i64 count) {
    k_begin = first * BK;
    const i64 length = smaller(count * BK, k - k_begin);
    tiles = length > 0 ? static_cast<int>(ceil_div(length, BK)) : 0;
    last_depth = static_cast<int>(length - static_cast<i64>(tiles - 1) * BK);
  }
  __device__ __forceinline__ int depth(int tile) const { return tile + 1 < tiles ? BK : last_depth; }
};

// Where a tile lies in the ring of stages, and which phase of the barrier there tells that it has arrived.
struct RingPosition {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    if (stage == 0) parity ^= 1;
  }
};
