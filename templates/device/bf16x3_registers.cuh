// SWAP = 1: consumers split B themselves. An instruction's rows are columns of op(B), and each thread makes the three
// numbers of bf16 that cut() of bf16x3_planes.cuh would make of each element, in registers, where the instruction reads
// them: no step before, and no planes in memory. Needs the rendered constants of a family of planes.
#pragma once

#include "mmtune/pipeline.cuh"
#include "mmtune/planes_tile.cuh"

// Two neighbours along k, the first in the lower half of the words.
__device__ __forceinline__ void cut_pair(float first, float second, u32 (&words)[3]) {
  constexpr u32 UPPER = 0xffff0000u, INFINITE = 0x7f800000u;
  const auto bits = [](float x) { return __builtin_bit_cast(u32, x); };
  const auto rest = [&](float x) { return x - __builtin_bit_cast(float, bits(x) & UPPER); };
  const auto pair = [&] { return bits(first) >> 16 | (bits(second) & UPPER); };
  // The rest of an infinity is no NaN; that of a NaN is one, whatever bits of it the first part has.
  const auto rest_of_any = [&](float x) { return fabsf(x) == __builtin_bit_cast(float, INFINITE) ? 0.0f : rest(x); };
  words[0] = pair();
  first = rest_of_any(first), second = rest_of_any(second);
  words[1] = pair();
  first = rest(first), second = rest(second);
  words[2] = pair();
}

// A consumer's rows of a stage in three parts, as multiply_tiles() takes them.
template <class Element>
struct SplitRows {
  static constexpr int STEPS = BK / Kind::K, EIGHTS = BK / 8;  // instructions, and halves of them, along k
  u32 parts[3][STEPS][4];

  // Lines along k, from the warpgroup's first row on. Half of a warp reads lines two at a time, since those of one step
  // lie in half of the banks; to exchange steps between lanes instead was slower.
  __device__ __forceinline__ void load_along_k(const unsigned char* tile, int first_row) {
    const int lane = threadIdx.x % WARP;
    const int row = first_row + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4;
#pragma unroll
    for (int q = 0; q < EIGHTS; ++q) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int unit = lane % 4 / 2 + 2 * q;
        const unsigned char* const at = tile + unit_of_line<LINE>(row + 8 * half, unit) + lane % 2 * 8;
        const auto pair = *reinterpret_cast<const Vector<Element, 2>*>(at);
        split(q, half, pair.at[0], pair.at[1]);
      }
    }
  }

  // Lines along n, BOX_COLUMNS wide, one box below the other.
  __device__ __forceinline__ void load_across_k(const unsigned char* tile, int first_row) {
    const int lane = threadIdx.x % WARP;
    const int row = first_row + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4;
    const auto element = [&](int k, int n) {
      const unsigned char* const lines = tile + n / BOX_COLUMNS * (BK * LINE);
      return *reinterpret_cast<const Element*>(lines + unit_of_line<LINE>(k, n % BOX_COLUMNS / 4) + n % 4 * 4);
    };
#pragma unroll
    for (int q = 0; q < EIGHTS; ++q) {
      const int k = q * 8 + lane % 4 * 2;
#pragma unroll
      for (int half = 0; half < 2; ++half) split(q, half, element(k, row + 8 * half), element(k + 1, row + 8 * half));
    }
  }

  __device__ __forceinline__ void load(const unsigned char* tile, int first_row) {
    if constexpr (TRANSPOSE_B) {
      load_along_k(tile, first_row);
    } else {
      load_across_k(tile, first_row);
    }
#pragma unroll
    for (int part = 0; part < 3; ++part) {
#pragma unroll
      for (int step = 0; step < STEPS; ++step) hold_sums(parts[part][step]);  // complete before they are multiplied
    }
  }

  // The sums of a stage's products with COUNT * 2 columns, small ones first, as start_chunk() has them.
  template <int COUNT>
  __device__ __forceinline__ void multiply(Accumulator (&sums)[COUNT], unsigned columns) const {
    wgmma_fence();
#pragma unroll
    for (int part = 2; part >= 0; --part) {
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        const u64 tile = tile_descriptor<LINE_A>(columns + step * (Kind::K * int(sizeof(Part))), 1);
        if (part == 2 && step == 0) {
          multiply_tiles<Kind, 2 * COUNT, false>(&sums[0], parts[part][step], tile);
        } else {
          multiply_tiles<Kind, 2 * COUNT, true>(&sums[0], parts[part][step], tile);
        }
      }
    }
    wgmma_commit();
  }

 private:
  __device__ __forceinline__ void split(int q, int half, Element first, Element second) {
    u32 words[3];
    cut_pair(first, second, words);
#pragma unroll
    for (int part = 0; part < 3; ++part) parts[part][q / 2][q % 2 * 2 + half] = words[part];
  }
};
