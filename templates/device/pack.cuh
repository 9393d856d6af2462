// Copying an operand to where a main loop finds it faster, and what reads either.
#pragma once

#include "mmtune/index.cuh"

// Copies one TILE x TILE tile of a stored operand to target[k][extent], transposed if the operand is contiguous along
// k. For a block of THREADS_OF_BLOCK threads, with TILE * (TILE + 1) elements of shared memory.
template <bool ALONG_K, int TILE, int THREADS_OF_BLOCK, class Input>
__device__ __forceinline__ void pack_tile(void* shared, const Input* source, i64 ld, i64 extent, i64 k, Input* target,
                                          i64 target_ld, i64 tile) {
  constexpr int ROWS = THREADS_OF_BLOCK / TILE;                   // that a block copies at once
  auto& staged = *static_cast<Input(*)[TILE][TILE + 1]>(shared);  // a column more, which spreads columns over the banks
  const int x = threadIdx.x % TILE;
  const i64 tiles = ceil_div(extent, TILE);
  const i64 first = tile % tiles * TILE;
  const i64 k0 = tile / tiles * TILE;
#pragma unroll
  for (int y = threadIdx.x / TILE; y < TILE; y += ROWS) {
    const i64 row = ALONG_K ? first + y : first + x;
    const i64 l = ALONG_K ? k0 + x : k0 + y;
    if (row < extent && l < k) staged[y][x] = source[ALONG_K ? row * ld + l : l * ld + row];
  }
  __syncthreads();
#pragma unroll
  for (int y = threadIdx.x / TILE; y < TILE; y += ROWS) {
    if (first + x < extent && k0 + y < k)
      target[(k0 + y) * target_ld + first + x] = ALONG_K ? staged[x][y] : staged[y][x];
  }
}
