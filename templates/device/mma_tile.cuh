// Tiles of an operand in shared memory for mma.cuh: how they get there, and how warps read pieces of them.
//
// A tile lies there as it is stored, EXTENT rows or columns of C by BK: in lines along k, or along m or n. A line is
// cut into units of 16 bytes, which are exchanged by the number of the line, so that the units that a warp reads at
// once lie in different banks. Needs the rendered constants BK_BYTES, PIECE_BYTES, THREADS and ARCH.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/copy.cuh"
#include "mmtune/index.cuh"
#include "mmtune/mma.cuh"
#include "mmtune/unaligned_tile.cuh"

constexpr int UNIT = 16;  // bytes

// VECTOR: elements that may be copied at once.
template <class Input, int EXTENT, bool ALONG_K, int VECTOR>
struct Tile {
  static constexpr int SIZE = sizeof(Input);
  static constexpr int BK = BK_BYTES / SIZE;
  static constexpr int LINES = ALONG_K ? EXTENT : BK;
  static constexpr int UNITS = (ALONG_K ? BK : EXTENT) * SIZE / UNIT;  // the units of a line
  static constexpr int BYTES = LINES * UNITS * UNIT;
  static constexpr int PER_UNIT = UNIT / SIZE;  // elements
  // Whether ldmatrix can read it: 16-bit elements it can transpose.
  static constexpr bool MATRICES = SIZE == 2 || (ALONG_K && SIZE < 8);
  static_assert((UNITS & (UNITS - 1)) == 0, "lines are a power of two long");

  // Where a unit of a line is, in bytes.
  static __device__ __forceinline__ int place(int line, int unit) {
    constexpr int RANGE = UNITS < 8 ? UNITS : 8;
    // ldmatrix reads eight lines at once; single elements are read from four lines, two units each.
    const int turn = line / (8 / RANGE) * (MATRICES ? 1 : 2) % RANGE;
    return (line * UNITS + (unit ^ turn)) * UNIT;
  }
  // Where an element is.
  static __device__ __forceinline__ const Input* element(const unsigned char* tile, int row, int l) {
    const int byte = (ALONG_K ? l : row) * SIZE;
    return reinterpret_cast<const Input*>(tile + place(ALONG_K ? row : l, byte / UNIT) + byte % UNIT);
  }

  // The piece of 16 rows from `row0` on and step number `step` of PIECE_BYTES. OF_B: in the order that pieces of B
  // have.
  template <bool OF_B>
  static __device__ __forceinline__ void load(Piece<Input>& piece, const unsigned char* tile, int row0, int step) {
    const int lane = threadIdx.x % 32;
    // The half along k and the half of the 16 rows where the eight rows lie that this lane names to ldmatrix.
    const int half = OF_B ? lane / 8 % 2 : lane / 16;
    const int rows = OF_B ? lane / 16 : lane / 8 % 2;
    if constexpr (MATRICES && ALONG_K) {
      load_matrices(piece.at, shared_address(tile) + place(row0 + rows * 8 + lane % 8, step * 2 + half));
    } else if constexpr (MATRICES) {
      load_transposed_matrices(piece.at,
                               shared_address(tile) + place(step * 16 + half * 8 + lane % 8, row0 / 8 + rows));
    } else if constexpr (SIZE == 8) {
#pragma unroll
      for (int i = 0; i < 2 * Piece<Input>::HALVES; ++i) {
        constexpr int HALVES = Piece<Input>::HALVES;
        const int h = i / 2, r = i % 2;
        piece.at[OF_B ? HALVES * r + h : i] =
            *element(tile, row0 + lane / 4 + 8 * r, (step * HALVES + h) * 4 + lane % 4);
      }
    } else {
      constexpr int IN_WORD = 4 / SIZE;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          Vector<Input, IN_WORD> word;
#pragma unroll
          for (int e = 0; e < IN_WORD; ++e) {
            const int l = (step * 2 + h) * PER_UNIT + lane % 4 * IN_WORD + e;
            word.at[e] = *element(tile, row0 + lane / 4 + 8 * r, l);
          }
          piece.at[OF_B ? 2 * r + h : 2 * h + r] = __builtin_bit_cast(u32, word);
        }
      }
    }
  }
};

// Copies one tile after the other of a block's part of an operand, by cp.async, or through registers where that cannot
// copy so few bytes: what fetch() asked for, finish() writes. What lies outside of the operand becomes zeros.
template <class Input, int EXTENT, bool ALONG_K, int VECTOR>
struct TileLoader {
  using Element = Input;
  using Shape = Tile<Input, EXTENT, ALONG_K, VECTOR>;
  static constexpr int BK = Shape::BK;
  static constexpr int BYTES = Shape::BYTES;
  using Words = Vector<u32, UNIT / 4>;
  static constexpr bool ASYNC = ARCH >= 80 && VECTOR * sizeof(Input) >= 4;
  static constexpr int ALL = Shape::LINES * Shape::UNITS;
  static constexpr int COUNT = (ALL + THREADS - 1) / THREADS;  // units of a thread
  // The distance from one of a thread's units to the next: so many lines, or units in a line that has more.
  static constexpr int LINES_ON = THREADS / Shape::UNITS;
  static_assert((THREADS & (THREADS - 1)) == 0, "a block is a power of two large");

  const Input* source;  // this thread's first unit of the next tile
  i64 ld;
  int line;      // the line of that unit
  int position;  // its position in the line, in elements
  int extent;    // the number of the tile's rows or columns that C has
  Vector<Input, Shape::PER_UNIT> staged[ASYNC ? 1 : COUNT];

  // `matrix` has `whole` rows or columns of C; the tile begins at `first`, and at `k_begin` along k.
  __device__ __forceinline__ TileLoader(const Input* matrix, i64 leading, i64 whole, i64 first, i64 k_begin)
      : ld(leading), extent(static_cast<int>(smaller(whole - first, EXTENT))) {
    line = threadIdx.x / Shape::UNITS;
    position = threadIdx.x % Shape::UNITS * Shape::PER_UNIT;
    const i64 row = line + (ALONG_K ? first : k_begin);
    source = matrix + row * leading + (ALONG_K ? k_begin : first) + position;
  }

  // Where unit s of this thread is, counted from the first.
  static __device__ constexpr int lines_on(int s) { return LINES_ON > 0 ? s * LINES_ON : s * THREADS / Shape::UNITS; }
  static __device__ constexpr int elements_on(int s) { return s * THREADS % Shape::UNITS * Shape::PER_UNIT; }
  __device__ __forceinline__ bool has(int s) const { return ALL % THREADS == 0 || s * THREADS + threadIdx.x < ALL; }
  __device__ __forceinline__ int place(int s) const {
    return Shape::place(line + lines_on(s), (position + elements_on(s)) / Shape::PER_UNIT);
  }

  // `depth` steps along k exist.
  __device__ __forceinline__ void fetch(unsigned char* tile, int depth) {
    const int lines = ALONG_K ? extent : depth;
    const int elements = ALONG_K ? depth : extent;
    const Input* from = source;
#pragma unroll
    for (int s = 0; s < COUNT; ++s) {
      if (has(s)) {
#pragma unroll
        for (int v = 0; v < Shape::PER_UNIT; v += VECTOR) {
          const int at = elements_on(s) + v;
          const bool valid = line + lines_on(s) < lines && position + at < elements;
          if constexpr (ASYNC) {
            const unsigned to = shared_address(tile + place(s)) + v * sizeof(Input);
            copy_async<VECTOR * sizeof(Input)>(to, from + at, valid);
          } else {
            const auto part = load_if<VECTOR>(valid, from + at);
#pragma unroll
            for (int e = 0; e < VECTOR; ++e) staged[s].at[v + e] = part.at[e];
          }
        }
      }
      if (lines_on(s + 1) > lines_on(s)) from += (lines_on(s + 1) - lines_on(s)) * ld;
    }
    source += ALONG_K ? Shape::BK : Shape::BK * ld;
  }

  __device__ __forceinline__ void finish(unsigned char* tile) const {
    if constexpr (!ASYNC) {
#pragma unroll
      for (int s = 0; s < COUNT; ++s) {
        if (has(s)) *reinterpret_cast<Words*>(tile + place(s)) = __builtin_bit_cast(Words, staged[s]);
      }
    }
  }

  // See Tile.
  template <bool OF_B>
  static __device__ __forceinline__ void load(Piece<Input>& piece, const unsigned char* tile, int row0, int step) {
    Shape::template load<OF_B>(piece, tile, row0, step);
  }
};

// The loader of an operand of which VECTOR elements may be copied at once.
template <class Input, int EXTENT, bool ALONG_K, int VECTOR,
          bool IS_UNALIGNED = ARCH >= 80 && sizeof(Input) == 2 && VECTOR == 1>
struct TileLoaderOf {
  using type = TileLoader<Input, EXTENT, ALONG_K, VECTOR>;
};
template <class Input, int EXTENT, bool ALONG_K, int VECTOR>
struct TileLoaderOf<Input, EXTENT, ALONG_K, VECTOR, true> {
  using type = UnalignedTileLoader<Input, EXTENT, ALONG_K>;
};
