// Stores of wgmma.cuh's sums in C, through lines of shared memory as wgmma_finish.cuh has them: as boxes of the
// accelerator, or, where C is not aligned for that, by the warps themselves. Needs the same constants.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/wgmma_finish.cuh"

// Writes lines of shared memory to C, STORE_ROWS rows, as much as C has. For a warp.
__device__ __forceinline__ void copy_lines(const Target& target, const unsigned char* lines, int row0, int column0) {
  constexpr int AT_ONCE = 8;  // lines that are read before the first of them is written
  constexpr int PARTS = (STORE_COLUMNS + WARP - 1) / WARP;
  const int lane = threadIdx.x % WARP;
#pragma unroll 1
  for (int line = 0; line < STORE_ROWS; line += AT_ONCE) {
    Vector<Output, 1> results[AT_ONCE][PARTS];
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        const int byte = (part * WARP + lane) % STORE_COLUMNS * int(sizeof(Output));
        results[i][part] = *reinterpret_cast<const Vector<Output, 1>*>(
            lines + unit_of_line<STORE_LINE>(line + i, byte / 16) + byte % 16);
      }
    }
    const int rows = target.m - row0 - line;
    const int columns = (STORE_COLUMNS < WARP && lane >= STORE_COLUMNS) ? 0 : target.n - column0 - lane;
    Output* const first = target.C + (row0 + line) * target.ldc + column0 + lane;
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        store_if(i < rows && part * WARP < columns, first + i * target.ldc + part * WARP, results[i][part]);
      }
    }
  }
}

__device__ __forceinline__ Output to_output(Accumulator sum) {
  Output output;
  assign(output, sum);
  return output;
}

// Puts eight sums of two neighbouring groups of eight columns, `group` and the next, of a warp's 16 rows into lines.
template <class Result>
__device__ __forceinline__ void put_rows(unsigned char* lines, int group, const Accumulator* sums) {
  if constexpr (sizeof(Result) == 2) {
    store_matrices(rows_of_matrices(lines, group), to_pair(Result{}, sums[0], sums[1]),
                   to_pair(Result{}, sums[2], sums[3]), to_pair(Result{}, sums[4], sums[5]),
                   to_pair(Result{}, sums[6], sums[7]));
  } else {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      *reinterpret_cast<Vector<Output, 2>*>(pair_in_rows(lines, group, i)) = {
          {to_output(sums[i]), to_output(sums[i + 1])}};
    }
  }
}
// SWAP = 1: the same of two groups of eight columns of an instruction, which are lines, and of a warp's 16 rows, which
// are columns of C.
template <class Result>
__device__ __forceinline__ void put_columns(unsigned char* lines, int group, const Accumulator* sums) {
  if constexpr (sizeof(Result) == 2) {
    store_transposed_matrices(columns_of_matrices(lines, group), to_pair(Result{}, sums[0], sums[1]),
                              to_pair(Result{}, sums[2], sums[3]), to_pair(Result{}, sums[4], sums[5]),
                              to_pair(Result{}, sums[6], sums[7]));
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) *reinterpret_cast<Output*>(one_in_columns(lines, group, i)) = to_output(sums[i]);
  }
}

// The next of the buffers that slices take in turn, once the accelerator has read what it held: the thread that stores
// waits for that, and the others have to meet it.
template <int BUFFERS, int BYTES>
__device__ __forceinline__ unsigned char* free_buffer(unsigned char (&buffers)[BUFFERS][BYTES], int& next) {
  unsigned char* const buffer = buffers[next];
  next ^= BUFFERS - 1;
  const bool may_store = SWAP == 0 || threadIdx.x % WARPGROUP < WARP;
  if (STORE_BOXES && may_store && is_elected()) wait_stores_read<BUFFERS - 1>();
  return buffer;
}

// SWAP = 0: every warp stores its 16 rows of each slice by itself. buffer_of(number) is where the slice of that number
// may be written.
template <int COLUMNS, class BufferOf, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void store_rows(const Target& target, const BufferOf& buffer_of,
                                           const Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0) {
  const int warp = threadIdx.x % WARPGROUP / WARP;
#pragma unroll
  for (int number = 0; number < FRAGMENTS * Slice<COLUMNS>::OF_FRAGMENT; ++number) {
    const Slice<COLUMNS> slice(number);
    unsigned char* const lines = buffer_of(number) + warp * (16 * LINE);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < STORE_COLUMNS / 8; j += 2) {
      put_rows<Output>(lines, j, &sums[slice.fragment][slice.column / 2 + 4 * j]);
    }
    if (STORE_BOXES) fence_for_accelerator();
    __syncwarp();
    const int row = row0 + slice.fragment * 64 + warp * 16;
    if constexpr (!STORE_BOXES) {
      copy_lines(target, lines, row, column0 + slice.column);
    } else if (is_elected()) {
      store_box(target.map, shared_address(lines), column0 + slice.column, row);
      commit_stores();
    }
  }
}

// SWAP = 1: the four warps of a fragment have 16 columns each of the lines of a slice, or of two lines side by side.
template <int COLUMNS, class BufferOf, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void store_columns(const Target& target, const BufferOf& buffer_of,
                                              const Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0) {
  const int warp = threadIdx.x % WARPGROUP / WARP;
  const int consumer = threadIdx.x / WARPGROUP;
#pragma unroll
  for (int number = 0; number < FRAGMENTS * Slice<COLUMNS>::OF_FRAGMENT; ++number) {
    const Slice<COLUMNS> slice(number);
    unsigned char* const lines = buffer_of(number);
    meet<WARPGROUP>(FIRST_STORE + consumer);
#pragma unroll
    for (int j = 0; j < CHUNK / 8; j += 2) {
      if (j * 8 >= slice.count) continue;
      put_columns<Output>(lines, j, &sums[slice.fragment][slice.column / 2 + 4 * j]);
    }
    if (STORE_BOXES) fence_for_accelerator();
    meet<WARPGROUP>(FIRST_STORE + consumer);
    const auto move = [&](int at) {  // the box at this line of the buffer
      const int line = at % CHUNK;
      if (line >= slice.count) return;
      const int row = row0 + slice.column + line;
      const int column = column0 + slice.fragment * 64 + at / CHUNK * STORE_COLUMNS;
      if constexpr (STORE_BOXES) {
        store_box(target.map, shared_address(lines) + at * LINE, column, row);
      } else {
        copy_lines(target, lines + at * LINE, row, column);
      }
    };
    if constexpr (!STORE_BOXES) {
      move(warp * STORE_ROWS);
    } else if (warp == 0 && is_elected()) {
#pragma unroll
      for (int at = 0; at < 64; at += STORE_ROWS) move(at);
      commit_stores();
    }
  }
}

// WIDTH neighbours of a row of C, from as many sums of a thread: with SWAP = 1 those of two are columns, and a warp
// transposes them.
template <class Result, int WIDTH>
__device__ __forceinline__ Vector<Result, WIDTH> neighbours(const Accumulator* sums) {
  Vector<Result, WIDTH> results;
  if constexpr (SWAP == 1 && WIDTH == 2) {
    results = __builtin_bit_cast(decltype(results), transposed_matrix(to_pair(Result{}, sums[0], sums[1])));
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) results.at[i] = to_output(sums[i]);
  }
  return results;
}

// Stores COUNT results of each thread from its registers, from number `first` of all fragments on, a constant: two
// neighbours at once where C is aligned for that.
template <int COUNT, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void store_each(const Target& target, const Accumulator (&sums)[FRAGMENTS][SUMS], int first,
                                           int row0, int column0) {
  constexpr int WIDTH = STORE_BOXES && (SWAP == 0 || sizeof(Output) == 2) ? 2 : 1;
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int e = first; e < first + COUNT; e += WIDTH) {
    const int f = e / SUMS, i = e % SUMS;
    Place place(f, i);
    if (SWAP == 1 && WIDTH == 2) {  // transposed
      place.row += lane / 4 - 2 * (lane % 4);
      place.column += 2 * (lane % 4) - lane / 4;
    }
    store_if(place.is_in_c(target, row0, column0), target.C + (row0 + place.row) * target.ldc + column0 + place.column,
             neighbours<Output, WIDTH>(&sums[f][i]));
  }
}

// Writes sums to their part of partial[parts][m][n]: two columns of a row at once where rows of an even length have
// them side by side.
template <int FRAGMENTS, int SUMS>
__device__ __forceinline__ void store_part(const Target& target, Accumulator* partial,
                                           const Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0,
                                           int part) {
  constexpr int WIDTH = STORE_BOXES && SWAP == 0 ? 2 : 1;
  Accumulator* const mine = partial + (static_cast<i64>(part) * target.m + row0) * target.n + column0;
#pragma unroll
  for (int e = 0; e < FRAGMENTS * SUMS; e += WIDTH) {
    const Place place(e / SUMS, e % SUMS);
    Vector<Accumulator, WIDTH> group;
#pragma unroll
    for (int v = 0; v < WIDTH; ++v) group.at[v] = sums[e / SUMS][e % SUMS + v];
    store_sums_if(place.is_in_c(target, row0, column0), mine + static_cast<i64>(place.row) * target.n + place.column,
                  group);
  }
}
