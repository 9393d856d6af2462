// Tiles of an operand of 16-bit elements whose lines are aligned to no more than these, for mma.cuh: they come to
// shared memory by asynchronous copies of 16 bytes all the same.
//
// Of a line, along k or along m or n, the aligned units of 16 bytes that hold it are copied: one more than its own
// bytes fill. Somewhere in the first of them the line begins, in all stages at the same place, since a stage has whole
// units of a line along k, or lines by eights. ldmatrix could not read it: warps make words of four bytes. What the
// first unit has in front of the line is copied, and not used.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/index.cuh"
#include "mmtune/mma.cuh"

// A block's part of an operand, EXTENT rows or columns of C by BK_BYTES along k at a time. Needs the rendered constants
// BK_BYTES and THREADS; sm_80.
template <class Input, int EXTENT, bool ALONG_K>
struct UnalignedTileLoader {
  using Element = Input;
  static constexpr int SIZE = sizeof(Input);
  static constexpr int UNIT = 16;  // bytes
  static constexpr int BK = BK_BYTES / SIZE;
  static constexpr int LINES = ALONG_K ? EXTENT : BK;
  static constexpr int UNITS = (ALONG_K ? BK : EXTENT) * SIZE / UNIT;  // what a line fills
  // The lines that a warp reads at once lie in different banks, but for where they begin.
  static constexpr int PITCH = (UNITS + 1) * UNIT;
  static constexpr int BYTES = LINES * PITCH;
  static constexpr int LINES_AT_ONCE = THREADS / UNITS;
  static_assert(SIZE == 2, "eight lines begin where the eight before them do, and a word has two elements");

  const char* source;  // this thread's first line of the next tile
  i64 line_bytes;      // from a line to the next
  int begin;           // where in its unit the tile's first line begins
  int step;            // how much further on in a unit a line begins than the one before
  int extent;          // the number of the tile's rows or columns that C has

  // `matrix` has `whole` rows or columns of C; the tile begins at `first`, and at `k_begin` along k.
  __device__ __forceinline__ UnalignedTileLoader(const Input* matrix, i64 leading, i64 whole, i64 first, i64 k_begin)
      : line_bytes(leading * SIZE), extent(static_cast<int>(smaller(whole - first, EXTENT))) {
    source = reinterpret_cast<const char*>(matrix + (ALONG_K ? first * leading + k_begin : k_begin * leading + first));
    begin = static_cast<int>(reinterpret_cast<u64>(source) % UNIT);
    step = static_cast<int>(leading % (UNIT / SIZE)) * SIZE;
    source += threadIdx.x / UNITS * line_bytes;
  }

  __device__ __forceinline__ int begin_of(int line) const { return (begin + line * step) % UNIT; }

  // `depth` steps along k exist. What lies behind them, or outside of the operand, becomes zeros.
  __device__ __forceinline__ void fetch(unsigned char* tile, int depth) {
    const int lines = ALONG_K ? extent : depth;
    const int bytes = (ALONG_K ? depth : extent) * SIZE;
    const char* from = source;
#pragma unroll
    for (int first = 0; first < LINES; first += LINES_AT_ONCE) {
      const int line = first + threadIdx.x / UNITS;
      if (LINES % LINES_AT_ONCE == 0 || line < LINES) {
        const int line_begin = begin_of(line);
        const auto copy = [&](int unit) {
          const int at = unit * UNIT - line_begin;  // in the line
          const int left = line < lines ? bytes - at : 0;
          const int wanted = left < 0 ? 0 : left > UNIT ? UNIT : left;
          copy_unit_async(shared_address(tile) + line * PITCH + unit * UNIT, from + at, at < 0 ? -at : 0, wanted);
        };
        copy(threadIdx.x % UNITS);
        if (threadIdx.x % UNITS == 0) copy(UNITS);
      }
      from += LINES_AT_ONCE * line_bytes;
    }
    source += ALONG_K ? BK_BYTES : BK * line_bytes;
  }
  __device__ __forceinline__ void finish(unsigned char*) const {}

  // The piece of 16 rows from `row0` on and step number `number` of 32 bytes along k. OF_B: in the order that pieces of
  // B have.
  template <bool OF_B>
  __device__ __forceinline__ void load(Piece<Input>& piece, const unsigned char* tile, int row0, int number) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = row0 + 8 * r, l = (2 * number + h) * (UNIT / SIZE);
        piece.at[OF_B ? 2 * r + h : 2 * h + r] =
            word(tile + (ALONG_K ? row * PITCH + l * SIZE : l * PITCH + row * SIZE));
      }
    }
  }

 private:
  // This thread's 4 bytes along k of the 8 rows by 16 bytes that begin at `corner`.
  __device__ __forceinline__ u32 word(const unsigned char* corner) const {
    const int row = threadIdx.x % 32 / 4, l = threadIdx.x % 4 * 2;
    if constexpr (ALONG_K) {
      const int line_begin = begin_of(row);
      const auto* const words = reinterpret_cast<const u32*>(corner + row * PITCH + l * SIZE + line_begin / 4 * 4);
      return static_cast<u32>((static_cast<u64>(words[1]) << 32 | words[0]) >> line_begin % 4 * 8);
    } else {
      Vector<Input, 2> elements;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        elements.at[e] = *reinterpret_cast<const Input*>(corner + (l + e) * PITCH + begin_of(l + e) + row * SIZE);
      }
      return __builtin_bit_cast(u32, elements);
    }
  }
};
