// Blocks of one grid that share the work on one tile of C: which block computes what, and how it hands its sums over.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/dependent.cuh"
#include "mmtune/flag.cuh"
#include "mmtune/index.cuh"
#include "mmtune/numeric.cuh"

// How `blocks` resident blocks divide `tiles` tiles of C, each `k_tiles` steps along k deep (stream-K; M. Osama et al.,
// "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU", PPoPP 2023).
// As many tiles as fill whole waves are computed by one block each. The first `rest` tiles, which do not, are laid end
// to end and cut into equal shares; a share may end one tile and begin the next.
struct StreamSchedule {
  static constexpr int kLeastShare = 4;  // k_tiles: below it, handing sums over costs more than it saves

  i64 tiles;
  int k_tiles;
  int blocks;
  int rest;
  int sharers;

  __device__ __forceinline__ StreamSchedule(i64 tiles_of_c, int k_tiles_of_c, int resident_blocks)
      : tiles(tiles_of_c), k_tiles(k_tiles_of_c), blocks(resident_blocks), rest(static_cast<int>(tiles_of_c % blocks)) {
    const i64 worth = static_cast<i64>(rest) * k_tiles / kLeastShare;
    sharers = static_cast<int>(smaller(blocks, worth > rest ? worth : rest));
  }

  // Where the share of a block begins, counted in k_tiles from the first tile's first; ends where the next begins.
  __device__ __forceinline__ i64 begin(int block) const {
    return rest == 0 ? 0 : static_cast<i64>(block < sharers ? block : sharers) * rest * k_tiles / sharers;
  }
};

// A run of steps along k of one tile, counted in k_tiles.
struct StreamPiece {
  i64 tile;
  i64 first;
  i64 count;
};

// What a block computes, one after the other: its share of the tiles that are divided, then its whole tiles.
struct StreamWalk {
  StreamSchedule schedule;
  i64 k_tiles;
  i64 at;  // the position in the block's share
  i64 shared_end;
  i64 whole;

  __device__ __forceinline__ StreamWalk(i64 tiles, i64 k_tiles_of_c, int blocks, int block)
      : schedule(tiles, static_cast<int>(k_tiles_of_c), blocks), k_tiles(k_tiles_of_c), at(schedule.begin(block)) {
    shared_end = schedule.begin(block + 1);
    whole = schedule.rest + block;
  }

  __device__ __forceinline__ bool more() const { return at < shared_end || whole < schedule.tiles; }

  __device__ __forceinline__ StreamPiece next() {
    StreamPiece piece{whole, 0, k_tiles};
    if (at < shared_end) {
      piece.tile = at / k_tiles;
      piece.first = at - piece.tile * k_tiles;
      piece.count = smaller(shared_end - at, k_tiles - piece.first);
      at += piece.count;
    } else {
      whole += schedule.blocks;
    }
    return piece;
  }

  // Whether that block has a part of the tile, which it hands over.
  __device__ __forceinline__ bool gives(int block, i64 tile) const {
    return schedule.begin(block) < (tile + 1) * k_tiles;
  }
};

// What must be done before blocks share tiles; by one block.
template <int FLAGS, int THREADS_OF_BLOCK>
__device__ __forceinline__ void lower_flags(u32* flags) {
  for (int flag = threadIdx.x; flag < FLAGS; flag += THREADS_OF_BLOCK) flags[flag] = 0;
}

// The same as the first step of a plan.
template <int FLAGS, int THREADS_OF_BLOCK>
__device__ __forceinline__ void prepare_flags(u32* flags) {
  wait_for_previous();
  launch_dependents();
  lower_flags<FLAGS, THREADS_OF_BLOCK>(flags);
}

// A block's sums outside of its registers: SIZE of every thread, stored so that each thread finds its own again and a
// warp moves whole lines. One at a time: wider accesses would dictate which registers the sums of the main loop lie in,
// and operands of multiply-adds in the same register bank cost cycles there.
template <int SIZE, int THREADS_OF_BLOCK, class Accumulator>
struct StoredSums {
  Accumulator* stored;

  __device__ __forceinline__ explicit StoredSums(Accumulator* memory) : stored(memory + threadIdx.x) {}

  __device__ __forceinline__ void store(const Accumulator* sums) const {
#pragma unroll
    for (int i = 0; i < SIZE; ++i) stored[i * THREADS_OF_BLOCK] = sums[i];
  }

  // sums = stored + sums
  __device__ __forceinline__ void add_to(Accumulator* sums) const {
#pragma unroll
    for (int i = 0; i < SIZE; ++i) sums[i] = stored[i * THREADS_OF_BLOCK] + sums[i];
  }
};
