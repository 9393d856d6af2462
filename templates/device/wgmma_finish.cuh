// How wgmma.cuh's sums become results, and where these lie: in C, and on their way there in lines of shared memory of
// 128 bytes, or of a narrower tile's width, that are swizzled by as many.
//
// A warpgroup has FRAGMENTS fragments of 64 rows, of which each thread has SUMS sums. With SWAP = 1 an instruction's
// rows are columns of C. Needs the rendered constants BN, SWAP, CLUSTER_M, CLUSTER_N and STORE_BOXES and the types
// Output, Accumulator and Scalar.
#pragma once

#include "mmtune/copy.cuh"
#include "mmtune/matrices.cuh"
#include "mmtune/numeric.cuh"
#include "mmtune/pipeline.cuh"

constexpr int LINE = 128;       // bytes
constexpr int WARPGROUP = 128;  // threads
constexpr int WARP = 32;
constexpr int ROW_BYTES = BN * sizeof(Output);  // the bytes of a tile's row of C
constexpr int STORE_LINE = ROW_BYTES >= LINE ? LINE : ROW_BYTES >= LINE / 2 ? LINE / 2 : LINE / 4;
constexpr int STORE_COLUMNS = STORE_LINE / sizeof(Output);
// SWAP = 1: lines side by side in a fragment's 64 columns of C, and lines one below the other that are moved at once.
constexpr int SIDES = 64 / STORE_COLUMNS;
constexpr int CHUNK = 64 / SIDES;
constexpr int STORE_ROWS = 16;  // the rows of a box
// SWAP = 1: whether a tile's columns of C do not fill the last fragment.
constexpr bool IS_PARTIAL = SWAP == 1 && BN % 64 != 0;
// The most sums of a thread that leave registers for the way of C through shared memory, as ptxas 13.0 says.
constexpr int MOST_BESIDE_C = sizeof(Output) > 2 || CLUSTER_M * CLUSTER_N != 1 ? 160 : 192;
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

  // Whether it is in C and in the tile.
  __device__ __forceinline__ bool is_in_c(const Target& target, int row0, int column0) const {
    return row0 + row < target.m && column0 + column < target.n && (!IS_PARTIAL || column < BN);
  }
};

// Calls visit(f, i, row, column) for those of COUNT of a thread's sums that have a place in C, from number `first` of
// all fragments on, a constant. ptxas 13.0 spills registers beside 192 sums unless row and column come before the test.
template <int COUNT, int SUMS, class Visit>
__device__ __forceinline__ void for_each_in_c(const Target& target, int first, int row0, int column0,
                                              const Visit& visit) {
#pragma unroll
  for (int e = first; e < first + COUNT; ++e) {
    const Place place(e / SUMS, e % SUMS);
    const int row = row0 + place.row;
    const int column = column0 + place.column;
    if (row < target.m && column < target.n && (!IS_PARTIAL || place.column < BN)) {
      visit(e / SUMS, e % SUMS, row, column);
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

// Where this lane's rows of four 8 x 8 matrices of 16-bit elements lie in lines: of two neighbouring groups of eight
// columns, `group` and the next, of a warp's 16 rows; rows 0 to 7 and 8 to 15, then the next eight columns.
__device__ __forceinline__ unsigned rows_of_matrices(const unsigned char* lines, int group) {
  const int lane = threadIdx.x % WARP;
  return shared_address(lines + unit_of_line<STORE_LINE>(lane / 8 % 2 * 8 + lane % 8, group + lane / 16));
}
// SWAP = 1: the same of two groups of eight columns of an instruction, which are lines, and of a warp's 16 rows, which
// are columns of C.
__device__ __forceinline__ unsigned columns_of_matrices(const unsigned char* lines, int group) {
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x % WARPGROUP / WARP;
  return shared_address(lines + unit_of_line<STORE_LINE>((group + lane / 16) * 8 + lane % 8, warp * 2 + lane / 8 % 2));
}

// Where sums of wider elements lie: two neighbours, the first of which is number i of eight.
template <class Lines>
__device__ __forceinline__ auto* pair_in_rows(Lines* lines, int group, int i) {
  const int lane = threadIdx.x % WARP;
  const int line = i / 2 % 2 * 8 + lane / 4;
  const int unit = (group + i / 4) * 2 + lane % 4 / 2;
  return lines + unit_of_line<STORE_LINE>(line, unit) + lane % 2 * 8;
}
// SWAP = 1: the same of one, number i of eight.
template <class Lines>
__device__ __forceinline__ auto* one_in_columns(Lines* lines, int group, int i) {
  const int lane = threadIdx.x % WARP;
  const int line = (group + i / 4) * 8 + 2 * (lane % 4) + i % 2;
  const int column = threadIdx.x % WARPGROUP / WARP * 16 + i / 2 % 2 * 8 + lane / 4;  // one of 64, two lines' width
  const int byte = column % STORE_COLUMNS * int(sizeof(Output));
  return lines + column / STORE_COLUMNS * CHUNK * LINE + unit_of_line<STORE_LINE>(line, byte / 16) + byte % 16;
}

// sum += beta * c.
__device__ __forceinline__ void add(Accumulator& sum, Accumulator beta, Output c) {
  sum = with_addend(sum, beta, static_cast<Accumulator>(value_of(c)));
}

// Adds beta * c to eight sums from number `first` on, of what lies in lines where put_rows() and put_columns() would put
// them.
template <class Result>
__device__ __forceinline__ void add_from_lines(const unsigned char* lines, int group, Accumulator beta,
                                               Accumulator* sums, int first) {
  if constexpr (sizeof(Result) == 2) {
    u32 pairs[4];
    if constexpr (SWAP == 1) {
      load_transposed_matrices(pairs, columns_of_matrices(lines, group));
    } else {
      load_matrices(pairs, rows_of_matrices(lines, group));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i >= first) add(sums[i], beta, Result{static_cast<unsigned short>(pairs[i / 2] >> i % 2 * 16)});
    }
  } else if constexpr (SWAP == 1) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i >= first) add(sums[i], beta, *reinterpret_cast<const Output*>(one_in_columns(lines, group, i)));
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      if (i < first) continue;
      const auto pair = *reinterpret_cast<const Vector<Output, 2>*>(pair_in_rows(lines, group, i));
      add(sums[i], beta, pair.at[0]);
      add(sums[i + 1], beta, pair.at[1]);
    }
  }
}

// What passes through a buffer at once: the lines of 64 rows of an instruction, which are columns of C where SWAP = 1,
// STORE_COLUMNS of C wide or CHUNK lines high. The last one of a tile that is no whole number of them begins earlier, so
// that it is a whole slice, or where SWAP = 1 whole boxes: what it has in common with the one before is stored twice.
template <int COLUMNS>
struct Slice {
  static constexpr int WIDTH = SWAP == 1 ? CHUNK : STORE_COLUMNS;
  static constexpr int OF_FRAGMENT = (COLUMNS + WIDTH - 1) / WIDTH;

  int fragment;
  int column;   // the first, of an instruction's
  int skipped;  // columns that the slice before has
  int count;    // the number of columns

  __device__ __forceinline__ explicit Slice(int number)
      : fragment(number / OF_FRAGMENT), column(number % OF_FRAGMENT * WIDTH), skipped(0), count(WIDTH) {
    const int missing = column + WIDTH - COLUMNS;
    if (missing <= 0) return;
    skipped = SWAP == 1 ? missing % STORE_ROWS : missing;
    count -= missing - skipped;
    column -= skipped;
  }

  // The first of the eight sums of groups `group` and the next that the slice before has not; 8: it has them all.
  __device__ __forceinline__ int first_new(int group) const {
    const int sums = skipped / 2 - group * 4;
    return sums < 0 ? 0 : sums > 8 ? 8 : sums;
  }
};

// Adds COUNT slices, each while the next one is on its way where there are two buffers: fetch(number) asks for it, meet()
// waits for those who fetch it, and add(number) reads it.
template <int COUNT, int BUFFERS, class Fetch, class Meet, class Add>
__device__ __forceinline__ void add_slices(const Fetch& fetch, const Meet& meet, const Add& add) {
  fetch(0);
#pragma unroll
  for (int number = 0; number < COUNT; ++number) {
    if (BUFFERS > 1 && number + 1 < COUNT) {
      fetch(number + 1);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    meet();
    add(number);
    meet();
    if (BUFFERS == 1 && number + 1 < COUNT) fetch(number + 1);
  }
}

// SWAP = 0: adds beta * c to a warpgroup's sums. Every warp reads its 16 rows of each fragment by itself.
template <int COLUMNS, int BUFFERS, int BYTES, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void add_rows(const Target& target, Accumulator beta,
                                         unsigned char (&buffers)[BUFFERS][BYTES],
                                         Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0) {
  constexpr int SLICES = FRAGMENTS * Slice<COLUMNS>::OF_FRAGMENT;
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x % WARPGROUP / WARP;
  const auto lines = [&](int number) { return buffers[number % BUFFERS] + warp * (16 * LINE); };
  const auto fetch = [&](int number) {
    const Slice<COLUMNS> slice(number);
    fetch_lines<16, WARP>(target, lines(number), row0 + slice.fragment * 64 + warp * 16, column0 + slice.column, lane);
    commit_copies();
  };
  const auto add = [&](int number) {
    const Slice<COLUMNS> slice(number);
#pragma unroll
    for (int j = 0; j < STORE_COLUMNS / 8; j += 2) {
      if (slice.first_new(j) == 8) continue;
      add_from_lines<Output>(lines(number), j, beta, &sums[slice.fragment][slice.column / 2 + 4 * j],
                             slice.first_new(j));
    }
  };
  if (is_elected()) wait_stores_read<0>();
  __syncwarp();
  add_slices<SLICES, BUFFERS>(fetch, [] { __syncwarp(); }, add);
}

// SWAP = 1: the same for a warpgroup together.
template <int COLUMNS, int BUFFERS, int BYTES, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void add_columns(const Target& target, Accumulator beta,
                                            unsigned char (&buffers)[BUFFERS][BYTES],
                                            Accumulator (&sums)[FRAGMENTS][SUMS], int row0, int column0) {
  constexpr int SLICES = FRAGMENTS * Slice<COLUMNS>::OF_FRAGMENT;
  const int consumer = threadIdx.x / WARPGROUP;
  const auto lines = [&](int number) { return buffers[number % BUFFERS]; };
  const auto fetch = [&](int number) {
    const Slice<COLUMNS> slice(number);
#pragma unroll
    for (int side = 0; side < SIDES; ++side) {
      fetch_lines<CHUNK, WARPGROUP>(target, lines(number) + side * CHUNK * LINE, row0 + slice.column,
                                    column0 + slice.fragment * 64 + side * STORE_COLUMNS, threadIdx.x % WARPGROUP);
    }
    commit_copies();
  };
  const auto add = [&](int number) {
    const Slice<COLUMNS> slice(number);
#pragma unroll
    for (int j = 0; j < CHUNK / 8; j += 2) {
      if (j * 8 >= slice.count) continue;
      add_from_lines<Output>(lines(number), j, beta, &sums[slice.fragment][slice.column / 2 + 4 * j],
                             slice.first_new(j));
    }
  };
  const auto meet_others = [&] { meet<WARPGROUP>(FIRST_STORE + consumer); };
  if (threadIdx.x % WARPGROUP < WARP && is_elected()) wait_stores_read<0>();
  meet_others();
  add_slices<SLICES, BUFFERS>(fetch, meet_others, add);
}

// Adds beta * c to COUNT sums from number `first` on, a constant, each of which its thread reads from C.
template <int COUNT, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void add_each(const Target& target, Accumulator beta, Accumulator (&sums)[FRAGMENTS][SUMS],
                                         int first, int row0, int column0) {
  for_each_in_c<COUNT, SUMS>(target, first, row0, column0, [&](int f, int i, int row, int column) {
    add(sums[f][i], beta, target.C[row * target.ldc + column]);
  });
}

// Whether sums are no results yet. A kernel asks when it begins: behind its loop it would wait for alpha and beta.
template <class Number>
__device__ __forceinline__ u32 is_unfinished(Number alpha, Number beta) {
  u32 unfinished = alpha != Number(1) || beta != Number(0);
  asm volatile("" : "+r"(unfinished));
  return unfinished;
}

// sum = alpha * sum of COUNT sums from number `first` on, a constant. Sums are never -0, so that scaled() by 1 leaves
// them as they are.
template <int COUNT, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void scale(Scalar alpha, Accumulator (&sums)[FRAGMENTS][SUMS], int first) {
  const Accumulator factor = static_cast<Accumulator>(alpha);
  if (factor == Accumulator(1)) return;
#pragma unroll
  for (int e = first; e < first + COUNT; ++e) sums[e / SUMS][e % SUMS] = scaled(factor, sums[e / SUMS][e % SUMS]);
}

// Makes results of COUNT sums from number `first` on, a constant: alpha * sum + beta * c. C is not read where beta is 0.
template <int COUNT, int FRAGMENTS, int SUMS>
__device__ __forceinline__ void finish_each(const Target& target, Scalar alpha, Scalar beta,
                                            Accumulator (&sums)[FRAGMENTS][SUMS], int first, int row0, int column0) {
  scale<COUNT>(alpha, sums, first);
  if (beta == Scalar(0)) return;
  add_each<COUNT>(target, static_cast<Accumulator>(beta), sums, first, row0, column0);
}

// The same of all sums: C comes by the `buffers` where it is aligned for that and there are at most MOST sums, which
// leave registers for the way.
template <int COLUMNS, int BUFFERS, int BYTES, int FRAGMENTS, int SUMS, int MOST = MOST_BESIDE_C>
__device__ __forceinline__ void finish(const Target& target, Scalar alpha, Scalar beta,
                                       unsigned char (&buffers)[BUFFERS][BYTES], Accumulator (&sums)[FRAGMENTS][SUMS],
                                       int row0, int column0) {
  scale<FRAGMENTS * SUMS>(alpha, sums, 0);
  if (beta == Scalar(0)) return;
  const Accumulator factor = static_cast<Accumulator>(beta);
  if constexpr (!STORE_BOXES || IS_PARTIAL || FRAGMENTS * SUMS > MOST) {
    add_each<FRAGMENTS * SUMS>(target, factor, sums, 0, row0, column0);
  } else if constexpr (SWAP == 1) {
    add_columns<COLUMNS>(target, factor, buffers, sums, row0, column0);
  } else {
    add_rows<COLUMNS>(target, factor, buffers, sums, row0, column0);
  }
}
