// Copying an operand to where a main loop finds it faster.
#pragma once

#include "mmtune/index.cuh"

// Copies one 32 x 32 tile of a stored operand to target[k][extent], transposed if the operand is contiguous along k.
// For a block of 256 threads, with 32 * 33 elements of shared memory.
template <bool ALONG_K, class Input>
__device__ __forceinline__ void pack_tile(void* shared, const Input* source, i64 ld, i64 extent, i64 k, Input* target,
                                          i64 target_ld, i64 tile) {
  auto& staged = *static_cast<Input(*)[32][33]>(shared);  // a column more, which spreads columns over the banks
  const int x = threadIdx.x % 32;
  const i64 tiles = ceil_div(extent, 32);
  const i64 first = tile % tiles * 32;
  const i64 k0 = tile / tiles * 32;
#pragma unroll
  for (int y = threadIdx.x / 32; y < 32; y += 8) {
    const i64 row = ALONG_K ? first + y : first + x;
    const i64 l = ALONG_K ? k0 + x : k0 + y;
    if (row < extent && l < k) staged[y][x] = source[ALONG_K ? row * ld + l : l * ld + row];
  }
  __syncthreads();
#pragma unroll
  for (int y = threadIdx.x / 32; y < 32; y += 8) {
    if (first + x < extent && k0 + y < k) target[(k0 + y) * target_ld + first + x] = ALONG_K ? staged[x][y] : staged[y][x];
  }
}
