// From the sums of wgmma.cuh to C, through lines of shared memory of 128 bytes, or of a narrower tile's width, that are
// swizzled by as many: as boxes of the accelerator, or, where C is not aligned for that, by the warps themselves.
//
// A warpgroup has FRAGMENTS fragments of 64 rows, of which each thread has SUMS sums. With SWAP = 1 an instruction's
// rows are columns of C. Needs the rendered constants BN, SWAP and STORE_BOXES and the types Output, Accumulator and
// Scalar.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/numeric.cuh"
#include "mmtune/pipeline.cuh"

constexpr int LINE = 128;       // bytes
constexpr int WARPGROUP = 128;  // threads
constexpr int WARP = 32;
constexpr int STORE_COLUMNS = BN * sizeof(Output) < LINE ? BN : LINE / sizeof(Output);
constexpr int STORE_LINE = STORE_COLUMNS * sizeof(Output);  // bytes of a line of C
// SWAP = 1: lines side by side in a fragment's 64 columns of C, and lines one below the other that are moved at once.
constexpr int SIDES = 64 / STORE_COLUMNS;
constexpr int CHUNK = 64 / SIDES;
constexpr int STORE_ROWS = 16;  // of a box
// The first of the barriers of the block at which warps meet that share lines of C, one a warpgroup.
constexpr int FIRST_STORE = 1;

struct Target {
  Output* C;
  i64 ldc;
  int m, n;
  const ProductMap* map;  // STORE_BOXES: boxes of STORE_ROWS lines
};

// Where in C, from the warpgroup's first element on, a thread's sum number i of fragment f belongs.
struct Place {
  int row, column;

  __device__ __forceinline__ Place(int f, int i) {
    const int lane = threadIdx.x % WARP;
    const int along_rows = f * 64 + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4 + 8 * (i / 2 % 2);
    const int along_columns = i / 4 * 8 + 2 * (lane % 4) + i % 2;
    row = SWAP == 1 ? along_columns : along_rows;
    column = SWAP == 1 ? along_rows : along_columns;
  }
};

// Calls visit(f, i, row, column) for each of a thread's sums that has a place in C, or for the first of each WIDTH of
// them.
template <int FRAGMENTS, int SUMS, int WIDTH = 1, class Visit>
__device__ __forceinline__ void for_each_in_c(const Target& target, int row0, int column0, const Visit& visit) {
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; i += WIDTH) {
      const Place place(f, i);
      const int row = row0 + place.row;
      const int column = column0 + place.column;
      if (row < target.m && column < target.n) visit(f, i, row, column);
    }
  }
}

// Where unit number `unit` of 16 bytes is in a line of LINE_BYTES, swizzled by as many, in bytes from the first line
// on.
template <int LINE_BYTES>
__device__ __forceinline__ int unit_of_line(int line, int unit) {
  return line * LINE_BYTES + (unit ^ line / (LINE / LINE_BYTES) % (LINE_BYTES / 16)) * 16;
}

// Asks for COUNT lines of C from global memory, in units of 16 bytes; what C has not becomes zeros. For so many
// threads, of which this is number `thread`.
template <int COUNT, int THREADS_>
__device__ __forceinline__ void fetch_lines(const Target& target, unsigned char* lines, int row0, int column0,
                                            int thread) {
  constexpr int UNITS = STORE_LINE / 16;
  const int column = column0 + thread % UNITS * (16 / int(sizeof(Output)));
#pragma unroll 1  // few registers are free here
  for (int line = thread / UNITS; line < COUNT; line += THREADS_ / UNITS) {
    const int row = row0 + line;
    copy_async<16>(shared_address(lines + unit_of_line<STORE_LINE>(line, thread % UNITS)),
                   target.C + row * target.ldc + column, row < target.m && column < target.n);
  }
}

// What C has at a column of a line.
__device__ __forceinline__ Accumulator in_line(const unsigned char* lines, int line, int column) {
  const int byte = column * int(sizeof(Output));
  const auto* const at = lines + unit_of_line<STORE_LINE>(line, byte / 16) + byte % 16;
  return static_cast<Accumulator>(value_of(*reinterpret_cast<const Output*>(at)));
}

// SWAP = 0: the first column of lines number `number` of a tile. The last lines begin earlier where the tile is no whole
// number of them: what they have in common with those before them is stored twice.
template <int COLUMNS>
__device__ __forceinline__ constexpr int first_of_lines(int number) {
  const int first = number * STORE_COLUMNS;
  return first + STORE_COLUMNS <= COLUMNS ? first : COLUMNS - STORE_COLUMNS;
}

// SWAP = 0: adds beta * c to a warpgroup's sums. Every warp reads its 16 rows of each fragment by itself, a column of
// lines while the next one is on its way.
template <int COLUMNS, int BYTES, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void add_rows(const Target& target, Accumulator beta, unsigned char (&buffers)[2][BYTES],
                                         Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0) {
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x % WARPGROUP / WARP;
  const auto lines = [&](int number, int f) { return buffers[number % 2] + (warp * FRAGMENTS + f) * 16 * LINE; };
  const auto fetch = [&](int number) {
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
      fetch_lines<16, WARP>(target, lines(number, f), row0 + warp * 16 + f * 64,
                            column0 + first_of_lines<COLUMNS>(number), lane);
    }
    commit_copies();
  };
  if (lane == 0) wait_stores_read<0>();
  __syncwarp();
  fetch(0);
#pragma unroll
  for (int number = 0; number * STORE_COLUMNS < COLUMNS; ++number) {
    const int first = first_of_lines<COLUMNS>(number);
    if (first + STORE_COLUMNS < COLUMNS) {
      fetch(number + 1);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    __syncwarp();
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int i = 0; i < STORE_COLUMNS / 2; ++i) {
        if (first + 2 * i < number * STORE_COLUMNS) continue;  // Lines before have it.
        const int line = lane / 4 + 8 * (i / 2 % 2);
        const Accumulator c = in_line(lines(number, f), line, i / 4 * 8 + 2 * (lane % 4) + i % 2);
        sums[f][first / 2 + i] = with_addend(sums[f][first / 2 + i], beta, c);
      }
    }
    __syncwarp();
  }
}

// SWAP = 1: the same for a warpgroup together, CHUNK lines of C at a time, as store_columns() stores them.
template <int COLUMNS, int BYTES, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void add_columns(const Target& target, Accumulator beta, unsigned char (&buffers)[2][BYTES],
                                            Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0) {
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x % WARPGROUP / WARP;
  const int consumer = threadIdx.x / WARPGROUP;
  const auto lines = [&](int first, int f) { return buffers[first / CHUNK % 2] + f * 64 * LINE; };
  const auto fetch = [&](int first) {
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int side = 0; side < SIDES; ++side) {
        fetch_lines<CHUNK, WARPGROUP>(target, lines(first, f) + side * CHUNK * LINE, row0 + first,
                                      column0 + f * 64 + side * STORE_COLUMNS, threadIdx.x % WARPGROUP);
      }
    }
    commit_copies();
  };
  if (threadIdx.x % WARPGROUP == 0) wait_stores_read<0>();
  meet<WARPGROUP>(FIRST_STORE + consumer);
  fetch(0);
#pragma unroll
  for (int first = 0; first < COLUMNS; first += CHUNK) {
    if (first + CHUNK < COLUMNS) {
      fetch(first + CHUNK);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    meet<WARPGROUP>(FIRST_STORE + consumer);
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int i = 0; i < CHUNK / 2; ++i) {
        if (first / 2 + i >= SUMS) continue;
        const int line = i / 4 * 8 + 2 * (lane % 4) + i % 2;
        const int column = warp * 16 + lane / 4 + 8 * (i / 2 % 2);
        const Accumulator c =
            in_line(lines(first, f) + column / STORE_COLUMNS * CHUNK * LINE, line, column % STORE_COLUMNS);
        sums[f][first / 2 + i] = with_addend(sums[f][first / 2 + i], beta, c);
      }
    }
    meet<WARPGROUP>(FIRST_STORE + consumer);
  }
}

// Makes results of sums: alpha * sum + beta * c. C is not read where beta is 0, and comes by the `buffers` where it is
// aligned for that and the sums leave registers for the way.
template <int COLUMNS, int BYTES, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void finish(const Target& target, Scalar alpha, Scalar beta,
                                       unsigned char (&buffers)[2][BYTES], Accumulator (&sums)[FRAGMENTS][SUMS],
                                       int row0, int column0) {
#pragma unroll
  for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sums[f][i] = scaled(static_cast<Accumulator>(alpha), sums[f][i]);
  }
  if (beta == Scalar(0)) return;
  if constexpr (!STORE_BOXES || FRAGMENTS * SUMS > 160) {
    for_each_in_c<FRAGMENTS, SUMS>(target, row0, column0, [&](int f, int i, int row, int column) {
      sums[f][i] = with_addend(sums[f][i], static_cast<Accumulator>(beta),
                               static_cast<Accumulator>(value_of(target.C[row * target.ldc + column])));
    });
  } else if constexpr (SWAP == 1) {
    add_columns<COLUMNS>(target, static_cast<Accumulator>(beta), buffers, sums, row0, column0);
  } else {
    add_rows<COLUMNS>(target, static_cast<Accumulator>(beta), buffers, sums, row0, column0);
  }
}

// Writes lines of shared memory to C, STORE_ROWS rows, as much as C has. For a warp.
__device__ __forceinline__ void copy_lines(const Target& target, const unsigned char* lines, int row0, int column0) {
#pragma unroll 4
  for (int line = 0; line < STORE_ROWS; ++line) {
#pragma unroll
    for (int x = threadIdx.x % WARP; x < STORE_COLUMNS; x += WARP) {
      const int byte = x * int(sizeof(Output));
      if (row0 + line < target.m && column0 + x < target.n) {
        target.C[(row0 + line) * target.ldc + column0 + x] =
            *reinterpret_cast<const Output*>(lines + unit_of_line<STORE_LINE>(line, byte / 16) + byte % 16);
      }
    }
  }
}

__device__ __forceinline__ Output to_output(Accumulator sum) {
  Output output;
  assign(output, sum);
  return output;
}

// Puts two neighbouring groups of eight columns, `group` and the next, of a warp's 16 rows into lines: eight sums.
// 16-bit results go as stmatrix takes them.
template <class Result>
__device__ __forceinline__ void put_rows(unsigned char* lines, int group, const Accumulator* sums) {
  const int lane = threadIdx.x % WARP;
  if constexpr (sizeof(Result) == 2) {
    // This lane says where row lane % 8 of matrix lane / 8 lies: rows 0 to 7 and 8 to 15, then the next eight columns.
    const int line = lane / 8 % 2 * 8 + lane % 8;
    store_matrices(shared_address(lines + unit_of_line<STORE_LINE>(line, group + lane / 16)),
                   to_pair(Result{}, sums[0], sums[1]), to_pair(Result{}, sums[2], sums[3]),
                   to_pair(Result{}, sums[4], sums[5]), to_pair(Result{}, sums[6], sums[7]));
  } else {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      const int line = i / 2 % 2 * 8 + lane / 4;
      const int unit = (group + i / 4) * 2 + lane % 4 / 2;
      *reinterpret_cast<Vector<Output, 2>*>(lines + unit_of_line<STORE_LINE>(line, unit) +
                                            lane % 2 * 8) = {{to_output(sums[i]), to_output(sums[i + 1])}};
    }
  }
}

// SWAP = 0: every warp stores its 16 rows of each fragment by itself, a column of lines at a time; two are under way.
// `buffer` is the one of two that is free first.
template <int COLUMNS, int BYTES, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void store_rows(const Target& target, unsigned char (&buffers)[2][BYTES],
                                           const Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0,
                                           int& buffer) {
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x % WARPGROUP / WARP;
  const int row = row0 + warp * 16;
#pragma unroll
  for (int number = 0; number * STORE_COLUMNS < COLUMNS; ++number) {
    const int first = first_of_lines<COLUMNS>(number);
    unsigned char* const lines = buffers[buffer] + warp * (FRAGMENTS * 16 * LINE);
    buffer ^= 1;
    if (STORE_BOXES && lane == 0) wait_stores_read<1>();
    __syncwarp();
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int j = 0; j < STORE_COLUMNS / 8; j += 2) {
        put_rows<Output>(lines + f * 16 * LINE, j, &sums[f][first / 2 + 4 * j]);
      }
    }
    if (STORE_BOXES) fence_for_accelerator();
    __syncwarp();
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
      if constexpr (!STORE_BOXES) {
        copy_lines(target, lines + f * 16 * LINE, row + f * 64, column0 + first);
      } else if (lane == 0) {
        store_box(target.map, shared_address(lines) + f * 16 * LINE, column0 + first, row + f * 64);
      }
    }
    if (STORE_BOXES && lane == 0) commit_stores();
  }
}

// SWAP = 1: puts two neighbouring groups of eight columns of an instruction, which are lines, of a warp's 16 rows,
// which are columns of C.
template <class Result>
__device__ __forceinline__ void put_columns(unsigned char* lines, int group, const Accumulator* sums) {
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x % WARPGROUP / WARP;
  if constexpr (sizeof(Result) == 2) {
    const int line = (group + lane / 16) * 8 + lane % 8;
    store_transposed_matrices(shared_address(lines + unit_of_line<STORE_LINE>(line, warp * 2 + lane / 8 % 2)),
                              to_pair(Result{}, sums[0], sums[1]), to_pair(Result{}, sums[2], sums[3]),
                              to_pair(Result{}, sums[4], sums[5]), to_pair(Result{}, sums[6], sums[7]));
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int line = (group + i / 4) * 8 + 2 * (lane % 4) + i % 2;
      const int column = warp * 16 + i / 2 % 2 * 8 + lane / 4;  // of 64: two lines' width
      unsigned char* const half = lines + column / STORE_COLUMNS * CHUNK * LINE;
      const int byte = column % STORE_COLUMNS * int(sizeof(Output));
      *reinterpret_cast<Output*>(half + unit_of_line<STORE_LINE>(line, byte / 16) + byte % 16) = to_output(sums[i]);
    }
  }
}

// SWAP = 1: the four warps of a fragment have 16 columns each of lines of C, or of two lines side by side, of which
// CHUNK are stored at once.
template <int COLUMNS, int BYTES, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void store_columns(const Target& target, unsigned char (&buffers)[2][BYTES],
                                              const Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0,
                                              int& buffer) {
  const int warp = threadIdx.x % WARPGROUP / WARP;
  const int consumer = threadIdx.x / WARPGROUP;
  const bool stores = threadIdx.x % WARPGROUP == 0;
#pragma unroll
  for (int first = 0; first < COLUMNS; first += CHUNK) {
    constexpr int LAST = COLUMNS % CHUNK;  // lines of the last chunk, if it is a part of one
    const int count = first + CHUNK <= COLUMNS ? CHUNK : LAST;
    unsigned char* const lines = buffers[buffer];
    buffer ^= 1;
    if (STORE_BOXES && stores) wait_stores_read<1>();
    meet<WARPGROUP>(FIRST_STORE + consumer);
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int j = 0; j < count / 8; j += 2) {
        put_columns<Output>(lines + f * 64 * LINE, j, &sums[f][first / 2 + 4 * j]);
      }
    }
    if (STORE_BOXES) fence_for_accelerator();
    meet<WARPGROUP>(FIRST_STORE + consumer);
#pragma unroll
    for (int f = 0; f < FRAGMENTS; ++f) {
#pragma unroll
      for (int at = 0; at < 64; at += STORE_ROWS) {
        const int line = at % CHUNK;
        if (line >= count) continue;
        const int column = column0 + f * 64 + at / CHUNK * STORE_COLUMNS;
        if constexpr (!STORE_BOXES) {
          if (at / STORE_ROWS == warp) copy_lines(target, lines + (f * 64 + at) * LINE, row0 + first + line, column);
        } else if (stores) {
          store_box(target.map, shared_address(lines) + (f * 64 + at) * LINE, column, row0 + first + line);
        }
      }
    }
    if (STORE_BOXES && stores) commit_stores();
  }
}

// Writes sums to their part of partial[parts][m][n]: two columns of a row at once where rows of an even length have
// them side by side.
template <int FRAGMENTS, int SUMS>
__device__ __forceinline__ void store_part(const Target& target, Accumulator* partial,
                                           const Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0,
                                           int part) {
  constexpr int WIDTH = STORE_BOXES && SWAP == 0 ? 2 : 1;
  for_each_in_c<FRAGMENTS, SUMS, WIDTH>(target, row0, column0, [&](int f, int i, int row, int column) {
    Vector<Accumulator, WIDTH> group;
#pragma unroll
    for (int v = 0; v < WIDTH; ++v) group.at[v] = sums[f][i + v];
    const i64 place = (static_cast<i64>(part) * target.m + row) * target.n + column;
    *reinterpret_cast<Vector<Accumulator, WIDTH>*>(partial + place) = group;
  });
}
