// How fp32 operands become planes of fp16, and when that is good enough.
//
// A row of op(A), or a column of op(B), is scaled by the power of two that brings its largest element into
// [2^14, 2^15). A scaled element x is the sum of high = fp16(x), low = fp16(x - high) and an error:
//
//     |x| >= 1/4    at most 2^-23 |x|: high and low have 22 bits and two signs
//     |x| <  1/4    at most 2^-25, half of the smallest fp16: 2^-39 of the row's largest element
//
// Errors of the first kind are as harmless as roundings of fp32 where a product has some terms of similar size. Those
// of the second kind, of `lossy` elements, matter where larger elements of the row meet only small ones of the column.
// Of the k terms of a product, at least sure(row) + sure(column) - k have two factors of 2^8 or more, where
//
//     sure = number of elements >= 2^8, less the number of lossy ones
//
// counts the losses already. Where that is SURE_TERMS or more for every product, none errs by more than 2^-26 sum |a b|
// besides. Rows of zeros ask for nothing, and neither do operands whose high parts are all. docs/accuracy.md has the
// derivation.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/index.cuh"
#include "mmtune/tma.cuh"

// Of so many rows of op(A), or columns of op(B), that one block scales.
struct Stripe {
  int sure;       // the least of its rows
  int needs_low;  // 1: an element has more than a high part, or a row is not scaled
};

constexpr int LARGEST_EXPONENT = 14;            // of scaled elements
constexpr float LARGE = 256;                    // 2^8
constexpr float LEAST_NORMAL = 0.25f;           // of scaled elements whose low part has all its bits
constexpr int SURE_TERMS = 32;                  // of a product; errors of fewer, or of one, are not averaged
constexpr int SURE_OF_ZEROS = 1 << 30;          // of a row of zeros: more than any extent
constexpr int UNSURE = -(1 << 30) - (1 << 30);  // of a row that is not scaled: less than any other can make up for
constexpr u32 SIGNLESS = 0x7fffffffu;
// Largest elements whose rows are scaled, as bits: 2^-100 up to 2^81. Products and sums of the scaled ones, times the
// inverse scales, stay in fp32's range where the results do. Infinities and NaN have larger bits.
constexpr u32 LEAST_SCALED = (127u - 100u) << 23;
constexpr u32 SCALED_END = (127u + 81u) << 23;

__device__ __forceinline__ float from_bits(u32 bits) { return __builtin_bit_cast(float, bits); }
__device__ __forceinline__ u32 magnitude_bits(float value) { return __builtin_bit_cast(u32, value) & SIGNLESS; }

// By what a row is scaled whose largest magnitude has these bits; one of zeros by 1.
struct RowScale {
  float scale, inverse;
  bool is_zero, is_scaled;

  __device__ __forceinline__ explicit RowScale(u32 largest) {
    is_zero = largest == 0;
    is_scaled = is_zero || (largest >= LEAST_SCALED && largest < SCALED_END);
    const u32 exponent = is_zero || !is_scaled ? 127 + LARGEST_EXPONENT : largest >> 23;
    scale = from_bits((2 * 127 + LARGEST_EXPONENT - exponent) << 23);
    inverse = from_bits((exponent - LARGEST_EXPONENT) << 23);
  }
};

// What a thread has found out about its elements besides how many of a row are sure.
struct Findings {
  u32 rests = 0;           // not 0: an element has more than a high part
  bool are_small = false;  // an element may be lossy
};

// The two parts of a row's elements, and how many are sure.
struct Splitter {
  float scale = 1;
  int sure = 0;

  template <int COUNT>
  __device__ __forceinline__ void split(const float (&elements)[COUNT], half_t (&high)[COUNT], half_t (&low)[COUNT],
                                        Findings& findings) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const float scaled = elements[i] * scale;
      high[i] = to_half(scaled);
      const float rest = scaled - to_float(high[i]);
      low[i] = to_half(rest);
      const float magnitude = from_bits(magnitude_bits(scaled));
      sure += magnitude >= LARGE ? 1 : 0;
      findings.are_small |= magnitude < LEAST_NORMAL && elements[i] != 0;
      findings.rests |= __builtin_bit_cast(u32, rest);
    }
  }

  // Takes elements off that are lossy: few are small, so that this is not looked for where all are split.
  template <int COUNT>
  __device__ __forceinline__ void discount(const float (&elements)[COUNT], Findings& findings) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const float scaled = elements[i] * scale;
      const float high = to_float(to_half(scaled));
      const float low = to_float(to_half(scaled - high));
      const bool is_there = scaled != 0 || elements[i] == 0;  // and has not underflowed
      const bool is_lossy = from_bits(magnitude_bits(scaled)) < LEAST_NORMAL && !(is_there && high + low == scaled);
      sure -= is_lossy ? 1 : 0;
      findings.rests |= is_there ? 0 : 1;
    }
  }
};

template <class T>
__device__ __forceinline__ T larger(T a, T b) {
  return a > b ? a : b;
}

// Of the warp's lanes whose numbers differ by multiples of STEP.
template <int STEP>
__device__ __forceinline__ u32 largest_of_lanes(u32 value) {
#pragma unroll
  for (int distance = STEP; distance < 32; distance *= 2) {
    value = larger(value, __shfl_xor_sync(~0u, value, distance));
  }
  return value;
}
template <int STEP>
__device__ __forceinline__ int sum_of_lanes(int value) {
#pragma unroll
  for (int distance = STEP; distance < 32; distance *= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}

// An operand, as rows of op(A) or columns of op(B), both called rows here, and what becomes of it: planes of fp16 along
// k, the low ones `rows` rows below the high ones, and the inverse scales.
struct Split {
  const float* source;
  i64 ld;
  i64 rows, k;
  half_t* planes;
  i64 planes_ld;
  float* inverse;
  Stripe* stripes;

  __device__ __forceinline__ half_t* high(i64 row) const { return planes + row * planes_ld; }
  __device__ __forceinline__ half_t* low(i64 row) const { return planes + (rows + row) * planes_ld; }
};

constexpr int SPLIT_WARPS = SPLIT_THREADS / 32;
constexpr int SPLIT_HELD = 64;   // elements of a thread that the block holds
constexpr int ALONG_ROWS = 8;    // of a stripe whose rows lie along k
constexpr int ACROSS_ROWS = 32;  // of another, at most
constexpr int MOST_BLOCKS = 8;   // that share a stripe
struct SplitShared {
  alignas(16) float held[SPLIT_HELD * SPLIT_THREADS];  // as Held has them
  u32 largest[SPLIT_WARPS][ACROSS_ROWS];  // of the part of a row that a warp has
  int sure[SPLIT_WARPS][ACROSS_ROWS];
  u32 rests[SPLIT_WARPS];  // not 0: some element has more than a high part
  Stripe of_block[ACROSS_ROWS];  // what the block found out about rows that others share
  u32 largest_of_block[ACROSS_ROWS];
  u32 largest_of_rows[MOST_BLOCKS][ACROSS_ROWS];  // of every block
};
static_assert(sizeof(SplitShared) == SPLIT_SMEM_BYTES, "host and kernel disagree on shared memory");

// A thread's own elements in shared memory, in vectors. Registers would hold as many, but the compiler would need
// seconds for loops that are written out.
template <int VECTOR>
struct Held {
  using Floats = Vector<float, VECTOR>;
  Floats* first;

  __device__ __forceinline__ explicit Held(SplitShared& shared)
      : first(reinterpret_cast<Floats*>(shared.held) + threadIdx.x) {}
  __device__ __forceinline__ Floats& operator[](int i) const { return first[i * SPLIT_THREADS]; }

  // Asks for vector number i; zeros if it is not there.
  __device__ __forceinline__ void ask(int i, bool is_there, const float* source) const {
    copy_async<int(sizeof(Floats))>(shared_address(&first[i * SPLIT_THREADS]), source, is_there);
  }
  static __device__ __forceinline__ void await() {
    commit_copies();
    wait_copies<0>();
  }
};

template <int VECTOR>
__device__ __forceinline__ void note_largest(const Vector<float, VECTOR>& elements, u32 (&largest)[VECTOR]) {
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) largest[v] = larger(largest[v], magnitude_bits(elements.at[v]));
}

// Counts the threads of each warp whose elements have rests; to be called by whole warps.
__device__ __forceinline__ void note_rests(SplitShared& shared, u32 rests) {
  const int count = sum_of_lanes<1>(rests != 0 ? 1 : 0);
  if (threadIdx.x % 32 == 0) shared.rests[threadIdx.x / 32] = count;
}

// What so many warps have counted of a row; whether it needs low parts, any row of the block's does.
__device__ __forceinline__ Stripe count_row(const SplitShared& shared, int row, int warps) {
  Stripe result{0, 0};
#pragma unroll 1
  for (int warp = 0; warp < warps; ++warp) result.sure += shared.sure[warp][row];
#pragma unroll 1
  for (int warp = 0; warp < SPLIT_WARPS; ++warp) result.needs_low |= shared.rests[warp] != 0 ? 1 : 0;
  return result;
}

// Notes the stripe of ROWS rows, each of which a lane of the first warp knows.
template <int ROWS>
__device__ __forceinline__ void end_stripe(const Split& split, i64 stripe, u32 largest, Stripe of_row) {
  const int lane = threadIdx.x;
  const RowScale scale(largest);
  Stripe result{SURE_OF_ZEROS, 0};
  if (lane < ROWS) {
    result.sure = scale.is_zero ? SURE_OF_ZEROS : scale.is_scaled ? of_row.sure : UNSURE;
    result.needs_low = scale.is_scaled ? of_row.needs_low : 1;
    const i64 row = stripe * ROWS + lane;
    if (row < split.rows) split.inverse[row] = scale.inverse;
  }
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_xor_sync(~0u, result.sure, distance);
    result.sure = other < result.sure ? other : result.sure;
    result.needs_low |= __shfl_xor_sync(~0u, result.needs_low, distance);
  }
  if (lane == 0) split.stripes[stripe] = result;
}

// Rows that lie along k: `team` threads, a warp or the block, have `rows` of them at a time, in pieces that the block
// holds. Nothing is read twice of rows that are one piece; of several, there is one at a time.
template <int VECTOR>
struct AlongK {
  using Halves = Vector<half_t, VECTOR>;

  const Split& split;
  SplitShared& shared;
  int team, rows;
  const Held<VECTOR> held{shared};
  Findings findings = {};

  __device__ __forceinline__ int own() const { return (threadIdx.x & (team - 1)) * VECTOR; }
  __device__ __forceinline__ int step() const { return team * VECTOR; }  // between a thread's vectors
  // A thread's vectors of a row, and the elements of a piece of it.
  __device__ __forceinline__ int count() const { return SPLIT_HELD / VECTOR / rows; }
  __device__ __forceinline__ int span() const { return SPLIT_HELD * team / rows; }
  __device__ __forceinline__ int left(i64 first) const { return static_cast<int>(split.k - first) - own(); }

  // The piece of all rows that begins at step `first`.
  __device__ __forceinline__ void load(i64 row, i64 first) {
#pragma unroll 1
    for (int r = 0; r < rows; ++r) {
      const float* source = split.source + (row + r) * split.ld + first + own();
      const int left_of_row = row + r < split.rows ? left(first) : 0;
#pragma unroll 4
      for (int i = 0; i < count(); ++i) {
        held.ask(r * count() + i, i * step() < left_of_row, source);
        source += step();
      }
    }
    held.await();
  }
  __device__ __forceinline__ u32 largest_held(int r) const {
    u32 largest[VECTOR] = {};
#pragma unroll 4
    for (int i = 0; i < count(); ++i) note_largest<VECTOR>(held[r * count() + i], largest);
#pragma unroll
    for (int v = 1; v < VECTOR; ++v) largest[0] = larger(largest[0], largest[v]);
    return largest[0];
  }
  __device__ __forceinline__ void store(Splitter& splitter, i64 row, int r, i64 first) {
    const i64 to_low = split.rows * split.planes_ld;
    half_t* target = split.high(row) + first + own();
#pragma unroll 4
    for (int i = 0; i < count(); ++i) {
      if (i * step() >= left(first)) break;
      Halves high, low;
      splitter.split(held[r * count() + i].at, high.at, low.at, findings);
      *reinterpret_cast<Halves*>(target) = high;
      *reinterpret_cast<Halves*>(target + to_low) = low;
      target += step();
    }
    if (!findings.are_small) return;
    findings.are_small = false;
#pragma unroll 1
    for (int i = 0; i < count(); ++i) splitter.discount(held[r * count() + i].at, findings);
  }

  // Number r of the rows that are held, from step `last` on. `largest` is that of its earlier pieces.
  __device__ __forceinline__ void split_row(i64 row, int of_stripe, int r, i64 last, u32 largest) {
    const int warp = (threadIdx.x & (team - 1)) / 32;
    largest = largest_of_lanes<1>(larger(largest, largest_held(r)));
    if (threadIdx.x % 32 == 0) shared.largest[warp][of_stripe] = largest;
    if (team > 32) {
      __syncthreads();
#pragma unroll 1
      for (int w = 0; w < SPLIT_WARPS; ++w) largest = larger(largest, shared.largest[w][of_stripe]);
    }
    Splitter splitter{RowScale(largest).scale};
#pragma unroll 1
    for (i64 first = last; row < split.rows && first >= 0; first -= span()) {
      if (first != last) load(row, first);
      store(splitter, row, r, first);
    }
    const int sure = sum_of_lanes<1>(splitter.sure);
    if (threadIdx.x % 32 != 0) return;
    shared.sure[warp][of_stripe] = sure;
    if (warp == 0) shared.largest_of_block[of_stripe] = largest;
  }

  // These rows, number `of_stripe` and those behind it of the stripe, which are there or not.
  __device__ __forceinline__ void split_rows(i64 row, int of_stripe) {
    u32 largest = 0;
    i64 last = 0;
#pragma unroll 1
    for (; last + span() < split.k; last += span()) {
      load(row, last);
      largest = larger(largest, largest_held(0));
    }
    load(row, last);
#pragma unroll 1
    for (int r = 0; r < rows; ++r) split_row(row + r, of_stripe + r, r, last, largest);
  }

  __device__ __forceinline__ void split_stripe(i64 stripe) {
    const int first = team == 32 ? threadIdx.x / 32 : 0;
    const int end = team == 32 ? first + 1 : ALONG_ROWS;
#pragma unroll 1
    for (int row = first; row < end; row += rows) split_rows(stripe * ALONG_ROWS + row, row);
    note_rests(shared, findings.rests);
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const int row = threadIdx.x % ALONG_ROWS;
    end_stripe<ALONG_ROWS>(split, stripe, shared.largest_of_block[row], count_row(shared, row, team / 32));
  }
};

template <int VECTOR>
__device__ __forceinline__ void split_along_k(const Split& split, i64 stripe, SplitShared& shared) {
  static_assert(SPLIT_WARPS == ALONG_ROWS, "a warp has a row");
  const int team = split.k <= SPLIT_HELD * 32 ? 32 : SPLIT_THREADS;
  const int rows = team == 32 || split.k > SPLIT_HELD * SPLIT_THREADS / 4 ? 1 : 4;
  AlongK<VECTOR>{split, shared, team, rows}.split_stripe(stripe);
}

// Rows whose elements lie `ld` apart: a cluster has a stripe of them, each block a share of the steps along k, in
// pieces that it holds. Lanes of a warp lie side by side along rows and, where that makes whole sectors of
// the planes, along k.
template <int VECTOR>
struct AcrossK {
  static constexpr int LANES = VECTOR == 4 ? 8 : 16;  // along rows
  static constexpr int ROWS = LANES * VECTOR;         // of a stripe
  static constexpr int UNIT = 8;                      // steps along k that a thread writes at once
  static constexpr int HELD = SPLIT_HELD / VECTOR / UNIT;
  static constexpr int STEPS = 32 / LANES * UNIT;     // of a warp at once
  static constexpr int SPAN = HELD * SPLIT_WARPS * STEPS;
  static constexpr int SHARE_UNIT = 64;  // steps of lines of 128 bytes of the planes
  static_assert(ROWS <= ACROSS_ROWS && SPLIT_WARPS == MOST_BLOCKS, "threads for all rows of all blocks");

  const Split& split;
  SplitShared& shared;
  i64 row;  // the thread's first
  int end;  // of the block's steps
  const Held<VECTOR> held{shared};
  Findings findings = {};

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % LANES; }
  static __device__ __forceinline__ int step(int i) {
    return (i * SPLIT_WARPS + static_cast<int>(threadIdx.x) / 32) * STEPS +
           static_cast<int>(threadIdx.x) % 32 / LANES * UNIT;
  }

  __device__ __forceinline__ void load(int first) {
#pragma unroll 1
    for (int i = 0; i < HELD; ++i) {
      const int left = row < split.rows ? end - first - step(i) : 0;
      const float* source = split.source + (first + step(i)) * split.ld + row;
#pragma unroll
      for (int u = 0; u < UNIT; ++u) {
        held.ask(i * UNIT + u, u < left, source);
        source += split.ld;
      }
    }
    held.await();
  }
  __device__ __forceinline__ void store(Splitter (&splitters)[VECTOR], int first) {
    using Halves = Vector<half_t, UNIT>;
    if (row >= split.rows) return;
    const i64 to_low = split.rows * split.planes_ld;
#pragma unroll 1
    for (int i = 0; i < HELD; ++i) {
      const int at = first + step(i);
      if (at >= end) break;
      half_t* target = split.high(row) + at;
      Vector<float, VECTOR> unit[UNIT];
#pragma unroll
      for (int u = 0; u < UNIT; ++u) unit[u] = held[i * UNIT + u];
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        float elements[UNIT];
#pragma unroll
        for (int u = 0; u < UNIT; ++u) elements[u] = unit[u].at[v];
        Halves high, low;
        splitters[v].split(elements, high.at, low.at, findings);
        *reinterpret_cast<Halves*>(target) = high;
        *reinterpret_cast<Halves*>(target + to_low) = low;
        target += split.planes_ld;
      }
    }
    if (!findings.are_small) return;
    findings.are_small = false;
#pragma unroll 1
    for (int i = 0; i < HELD * UNIT; ++i) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        const float element[] = {held[i].at[v]};
        splitters[v].discount(element, findings);
      }
    }
  }

  // The largest magnitudes of whole rows, from those of this thread's elements; to shared.largest_of_rows[0].
  __device__ __forceinline__ void find_largest(u32 (&largest)[VECTOR]) {
    const int thread = threadIdx.x;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      largest[v] = largest_of_lanes<LANES>(largest[v]);
      if (thread % 32 < LANES) shared.largest[thread / 32][lane() * VECTOR + v] = largest[v];
    }
    __syncthreads();
    if (thread < ROWS) {
      u32 of_block = 0;
#pragma unroll
      for (int warp = 0; warp < SPLIT_WARPS; ++warp) of_block = larger(of_block, shared.largest[warp][thread]);
      shared.largest_of_block[thread] = of_block;
    }
    cluster_sync();
    const int rank = thread / ROWS;
    if (rank < MOST_BLOCKS) {
      const unsigned theirs = remote_address(shared_address(&shared.largest_of_block[thread % ROWS]), rank);
      shared.largest_of_rows[rank][thread % ROWS] = load_remote<u32>(theirs);
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      for (int other = 0; other < MOST_BLOCKS; ++other) {
        largest[v] = larger(largest[v], shared.largest_of_rows[other][lane() * VECTOR + v]);
      }
    }
  }

  // Notes what all blocks have counted.
  __device__ __forceinline__ void end_rows(i64 stripe, const Splitter (&splitters)[VECTOR]) {
    const int thread = threadIdx.x;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      const int sure = sum_of_lanes<LANES>(splitters[v].sure);
      if (thread % 32 < LANES) shared.sure[thread / 32][lane() * VECTOR + v] = sure;
    }
    note_rests(shared, findings.rests);
    __syncthreads();
    const int of_stripe = thread % ROWS;
    if (thread < ROWS) shared.of_block[thread] = count_row(shared, thread, SPLIT_WARPS);
    cluster_sync();
    if (cluster_rank() == 0 && thread < 32) {
      u32 largest = 0;
      Stripe of_row{0, 0};
#pragma unroll
      for (int rank = 0; rank < MOST_BLOCKS; ++rank) {
        const Stripe* const own = &shared.of_block[of_stripe];
        of_row.sure += static_cast<int>(load_remote<u32>(remote_address(shared_address(&own->sure), rank)));
        of_row.needs_low |= static_cast<int>(load_remote<u32>(remote_address(shared_address(&own->needs_low), rank)));
        largest = larger(largest, shared.largest_of_rows[rank][of_stripe]);
      }
      end_stripe<ROWS>(split, stripe, largest, of_row);
    }
    cluster_sync();  // no block leaves while others read its shared memory
  }
};

template <int VECTOR>
__device__ __forceinline__ void split_across_k(const Split& split, i64 stripe, SplitShared& shared) {
  using Own = AcrossK<VECTOR>;
  const int k = static_cast<int>(split.k);
  const int share = static_cast<int>(ceil_div(k, MOST_BLOCKS * Own::SHARE_UNIT)) * Own::SHARE_UNIT;
  const int begin = cluster_rank() * share;
  Own own{split, shared, stripe * Own::ROWS + Own::lane() * VECTOR, static_cast<int>(smaller(k, begin + share))};
  u32 largest[VECTOR] = {};
  int last = begin;
#pragma unroll 1
  for (int first = begin; first < own.end; first += Own::SPAN) {
    own.load(first);
#pragma unroll 4
    for (int i = 0; i < Own::HELD * Own::UNIT; ++i) note_largest<VECTOR>(own.held[i], largest);
    last = first;
  }
  own.find_largest(largest);
  Splitter splitters[VECTOR];
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) splitters[v].scale = RowScale(largest[v]).scale;
#pragma unroll 1
  for (int first = last; first >= begin; first -= Own::SPAN) {
    if (first != last) own.load(first);
    own.store(splitters, first);
  }
  own.end_rows(stripe, splitters);
}

// The stripes of an operand as it is stored. BLOCKS share a stripe, and are a cluster if these are several.
template <bool ALONG_K, int VECTOR>
struct Stripes {
  static constexpr int BLOCKS = ALONG_K ? 1 : MOST_BLOCKS;

  static __device__ __forceinline__ void split(const Split& split, i64 stripe, SplitShared& shared) {
    if constexpr (ALONG_K) {
      split_along_k<VECTOR>(split, stripe, shared);
    } else {
      split_across_k<VECTOR>(split, stripe, shared);
    }
  }
};

// Whether all products of A and B are good enough by planes, from the stripes of both. For all THREADS of a block.
template <class SharedOfBlock>
__device__ __forceinline__ bool planes_fit(const Stripe* stripes, i64 stripes_a, i64 stripes_b, i64 k,
                                           SharedOfBlock& shared) {
  int least[2] = {0x7fffffff, 0x7fffffff};  // of A, of B
  int needs_low = 0;
  const auto look_at = [&](const Stripe* first, i64 count, int& side) {
#pragma unroll 4
    for (i64 i = threadIdx.x; i < count; i += THREADS) {
      const Stripe stripe = first[i];
      side = stripe.sure < side ? stripe.sure : side;
      needs_low |= stripe.needs_low;
    }
  };
  look_at(stripes, stripes_a, least[0]);
  look_at(stripes + stripes_a, stripes_b, least[1]);
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int other = __shfl_xor_sync(~0u, least[side], distance);
      least[side] = other < least[side] ? other : least[side];
    }
    needs_low |= __shfl_xor_sync(~0u, needs_low, distance);
  }
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    shared.least[0][warp] = least[0];
    shared.least[1][warp] = least[1];
    shared.needs_low[warp] = needs_low;
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < THREADS / 32; ++i) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      least[side] = shared.least[side][i] < least[side] ? shared.least[side][i] : least[side];
    }
    needs_low |= shared.needs_low[i];
  }
  return needs_low == 0 || static_cast<i64>(least[0]) + least[1] >= k + SURE_TERMS;
}
