// How instructions of a warpgroup (wgmma.cuh) are told where a tile lies in shared memory.
//
// Tiles lie in shared memory as the accelerator writes boxes as wide as their swizzle: lines of 128 bytes in groups of
// eight, a group at a multiple of 1024 bytes, or narrower ones alike.
#pragma once

#include "mmtune/numeric.cuh"

// Describes a tile at a shared memory address whose lines have LINE_BYTES, swizzled by as many. Where it is contiguous
// along m or n and wider than a line, it has columns of `lines` lines. PTX ISA, Matrix Descriptor Format: bytes from
// column to column and from one group of eight lines to the next, in 16 bytes, and the kind of swizzle.
template <int LINE_BYTES>
__device__ __forceinline__ u64 tile_descriptor(unsigned address, int lines) {
  static_assert(LINE_BYTES == 128 || LINE_BYTES == 64 || LINE_BYTES == 32, "as swizzles are");
  constexpr u64 SWIZZLE = LINE_BYTES == 128 ? 1 : LINE_BYTES == 64 ? 2 : 3;
  return static_cast<u64>((address & 0x3ffffu) >> 4) | static_cast<u64>(lines * LINE_BYTES >> 4) << 16 |
         static_cast<u64>(8 * LINE_BYTES >> 4) << 32 | SWIZZLE << 62;
}

// The descriptor of what begins so many bytes further on, a multiple of 16.
__device__ __forceinline__ u64 moved(u64 tile, int bytes) { return tile + (bytes >> 4); }
