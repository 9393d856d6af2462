// Copying an operand to where a main loop finds it faster, and what reads either.
#pragma once

#include "mmtune/index.cuh"

// Copies one TILE x TILE tile of a stored operand to target[k][extent], transposed if the operand is contiguous along
// k. For a block of THREADS_OF_BLOCK threads, with TILE * (TILE + 1) elements of shared memory. All of a thread's loads
// are under way before the first of them is waited for.
template <bool ALONG_K, int TILE, int THREADS_OF_BLOCK, class Input>
__device__ __forceinline__ void pack_tile(void* shared, const Input* source, i64 ld, i64 extent, i64 k, Input* target,
                                          i64 target_ld, i64 tile) {
  constexpr int ROWS = THREADS_OF_BLOCK / TILE;                   // the rows that a block copies at once
  constexpr int EACH = TILE / ROWS;                               // elements of a thread
  auto& staged = *static_cast<Input(*)[TILE][TILE + 1]>(shared);  // a column more, which spreads columns over the banks
  const int x = threadIdx.x % TILE;
  const int y0 = threadIdx.x / TILE;
  const u32 tiles = static_cast<u32>(ceil_div(extent, TILE));  // a number that fits, since they are blocks of a grid
  const u32 tile_k = static_cast<u32>(tile) / tiles;
  const i64 first = static_cast<i64>(static_cast<u32>(tile) - tile_k * tiles) * TILE;
  const i64 k0 = static_cast<i64>(tile_k) * TILE;
  Input held[EACH] = {};
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    const int y = y0 + i * ROWS;
    const i64 row = ALONG_K ? first + y : first + x;
    const i64 l = ALONG_K ? k0 + x : k0 + y;
    if (row < extent && l < k) held[i] = source[ALONG_K ? row * ld + l : l * ld + row];
  }
  if constexpr (ALONG_K) {
#pragma unroll
    for (int i = 0; i < EACH; ++i) staged[y0 + i * ROWS][x] = held[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; ++i) held[i] = staged[x][y0 + i * ROWS];
  }
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    const int y = y0 + i * ROWS;
    if (first + x < extent && k0 + y < k) target[(k0 + y) * target_ld + first + x] = held[i];
  }
}
