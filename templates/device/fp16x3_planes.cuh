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

// The two parts of a row's elements, and what they say about it.
struct Splitter {
  float scale = 1;
  int sure = 0;
  int needs_low = 0;

  __device__ __forceinline__ void split(float element, half_t& high, half_t& low) {
    const float scaled = element * scale;
    high = to_half(scaled);
    const float rest = scaled - to_float(high);
    low = to_half(rest);
    const float magnitude = from_bits(magnitude_bits(scaled));
    const bool is_there = scaled != 0 || element == 0;  // and has not underflowed
    const bool is_lossy = magnitude < LEAST_NORMAL && (to_float(low) != rest || !is_there);
    sure += (magnitude >= LARGE ? 1 : 0) - (is_lossy ? 1 : 0);
    needs_low |= rest == 0 && is_there ? 0 : 1;
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
constexpr int ALONG_ROWS = 8;                // of a stripe whose rows lie along k,
constexpr int ACROSS_ROWS = 16;              // and of another
constexpr int SPLIT_DEPTH = 256;             // steps along k that a block turns at once
constexpr int SPLIT_LINE = SPLIT_DEPTH + 8;  // elements; the 8 spread lines over the banks
struct SplitShared {
  alignas(16) half_t turned[PLANES][ACROSS_ROWS][SPLIT_LINE];
  u32 largest[SPLIT_WARPS][ACROSS_ROWS];
  int sure[SPLIT_WARPS][ACROSS_ROWS];
  int needs_low[SPLIT_WARPS][ACROSS_ROWS];
};
static_assert(sizeof(SplitShared) == SPLIT_SMEM_BYTES, "host and kernel disagree on shared memory");

// What the block has found out about its stripe of ROWS rows: what WARPS warps have counted of each is in shared
// memory.
template <int ROWS, int WARPS>
__device__ __forceinline__ void end_stripe(const Split& split, i64 stripe, SplitShared& shared) {
  __syncthreads();
  if (threadIdx.x >= 32) return;
  Stripe result{SURE_OF_ZEROS, 0};
  if (threadIdx.x < ROWS) {
    u32 largest = 0;
    int sure = 0;
#pragma unroll
    for (int warp = 0; warp < WARPS; ++warp) {
      largest = larger(largest, shared.largest[warp][threadIdx.x]);
      sure += shared.sure[warp][threadIdx.x];
      result.needs_low |= shared.needs_low[warp][threadIdx.x];
    }
    const RowScale scale(largest);
    result.sure = scale.is_zero ? SURE_OF_ZEROS : scale.is_scaled ? sure : UNSURE;
    result.needs_low |= scale.is_scaled ? 0 : 1;
    const i64 row = stripe * ROWS + threadIdx.x;
    if (row < split.rows) split.inverse[row] = scale.inverse;
  }
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_xor_sync(~0u, result.sure, distance);
    result.sure = other < result.sure ? other : result.sure;
    result.needs_low |= __shfl_xor_sync(~0u, result.needs_low, distance);
  }
  if (threadIdx.x == 0) split.stripes[stripe] = result;
}

// Rows that lie along k: TEAM threads, a warp or the block, have one at a time, in pieces that their registers hold.
// Nothing is read twice of a row that is one piece.
template <int VECTOR, int TEAM>
struct AlongK {
  static constexpr int HELD = 16 / VECTOR;  // vectors of a thread
  static constexpr int SPAN = TEAM * 16;    // elements of a piece
  static constexpr int WARPS = TEAM / 32;
  using Halves = Vector<half_t, VECTOR>;

  const Split& split;
  SplitShared& shared;
  Vector<float, VECTOR> held[HELD] = {};

  __device__ __forceinline__ void load(const float* row, i64 first, i64 k) {
    const int own = static_cast<int>(threadIdx.x) % TEAM * VECTOR;
    const int left = static_cast<int>(k - first) - own;
    const float* const source = row + first + own;
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
      held[i] = load_if<VECTOR>(i * (TEAM * VECTOR) < left, source + i * (TEAM * VECTOR));
    }
  }
  __device__ __forceinline__ void store(Splitter& splitter, i64 row, i64 first, i64 k) const {
    const int own = static_cast<int>(threadIdx.x) % TEAM * VECTOR;
    const int left = static_cast<int>(k - first) - own;
    half_t* const high_row = split.high(row) + first + own;
    half_t* const low_row = split.low(row) + first + own;
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
      if (i * (TEAM * VECTOR) >= left) break;
      Halves high, low;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) splitter.split(held[i].at[v], high.at[v], low.at[v]);
      *reinterpret_cast<Halves*>(high_row + i * (TEAM * VECTOR)) = high;
      *reinterpret_cast<Halves*>(low_row + i * (TEAM * VECTOR)) = low;
    }
  }

  // Row number `of_stripe` of the stripe, which is there or not.
  __device__ __forceinline__ void split_row(i64 row, int of_stripe) {
    const i64 k = row < split.rows ? split.k : 0;
    const float* const source = split.source + (row < split.rows ? row : 0) * split.ld;
    const int warp = threadIdx.x % TEAM / 32;
    u32 largest = 0;
    i64 last = 0;
#pragma unroll 1
    for (i64 first = 0; first < k; first += SPAN) {
      load(source, first, k);
#pragma unroll
      for (int i = 0; i < HELD; ++i) {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) largest = larger(largest, magnitude_bits(held[i].at[v]));
      }
      last = first;
    }
    largest = largest_of_lanes<1>(largest);
    if (threadIdx.x % 32 == 0) shared.largest[warp][of_stripe] = largest;
    if constexpr (WARPS > 1) {
      __syncthreads();
#pragma unroll
      for (int other = 0; other < WARPS; ++other) largest = larger(largest, shared.largest[other][of_stripe]);
    }
    const RowScale scale(largest);
    Splitter splitter{scale.scale};
#pragma unroll 1
    for (i64 first = last; scale.is_scaled && first >= 0; first -= SPAN) {
      if (first != last) load(source, first, k);
      store(splitter, row, first, k);
    }
    const int sure = sum_of_lanes<1>(splitter.sure);
    const int needs_low = sum_of_lanes<1>(splitter.needs_low);
    if (threadIdx.x % 32 == 0) {
      shared.sure[warp][of_stripe] = sure;
      shared.needs_low[warp][of_stripe] = needs_low > 0 ? 1 : 0;
    }
  }
};

template <int VECTOR>
__device__ __forceinline__ void split_along_k(const Split& split, i64 stripe, SplitShared& shared) {
  if (split.k <= AlongK<VECTOR, 32>::SPAN) {
    static_assert(SPLIT_WARPS == ALONG_ROWS, "a warp has a row");
    AlongK<VECTOR, 32> own{split, shared};
    const int row = threadIdx.x / 32;
    own.split_row(stripe * ALONG_ROWS + row, row);
    end_stripe<ALONG_ROWS, 1>(split, stripe, shared);
  } else {
    AlongK<VECTOR, SPLIT_THREADS> own{split, shared};
#pragma unroll 1
    for (int row = 0; row < ALONG_ROWS; ++row) own.split_row(stripe * ALONG_ROWS + row, row);
    end_stripe<ALONG_ROWS, SPLIT_WARPS>(split, stripe, shared);
  }
}

// Rows whose elements lie `ld` apart, a stripe of which the block reads at once, and turns in shared memory.
struct AcrossK {
  static constexpr int ROWS = ACROSS_ROWS;
  static constexpr int STEPS = SPLIT_THREADS / ROWS;   // along k that the block reads at once
  static constexpr int TURNS = 1;                      // of a piece that registers hold
  static constexpr int AT_ONCE = SPLIT_DEPTH / STEPS;  // elements of a thread that are turned at once
  static constexpr int SPAN = TURNS * SPLIT_DEPTH;     // steps along k of a piece
  static constexpr int UNIT = 8;                       // elements that a thread writes at once
  static constexpr int UNITS = SPLIT_DEPTH / UNIT;
  using Unit = Vector<half_t, UNIT>;

  const Split& split;
  SplitShared& shared;
  i64 first_row;
  float held[TURNS * AT_ONCE] = {};
  int x = threadIdx.x % ROWS;
  int y = threadIdx.x / ROWS;

  __device__ __forceinline__ void load(i64 first) {
    const int left = first_row + x < split.rows ? static_cast<int>(split.k - first) - y : 0;
    const float* source = split.source + (first + y) * split.ld + first_row + x;
#pragma unroll
    for (int i = 0; i < TURNS * AT_ONCE; ++i) {
      held[i] = load_if<1>(i * STEPS < left, source).at[0];
      source += STEPS * split.ld;
    }
  }

  // To both planes.
  __device__ __forceinline__ void store(Splitter& splitter, i64 first) const {
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
      const i64 step = first + turn * SPLIT_DEPTH;
      if (step >= split.k) break;
      __syncthreads();  // what was turned before is written
#pragma unroll
      for (int i = 0; i < AT_ONCE; ++i) {
        splitter.split(held[turn * AT_ONCE + i], shared.turned[0][x][y + i * STEPS],
                       shared.turned[1][x][y + i * STEPS]);
      }
      __syncthreads();
#pragma unroll
      for (int i = threadIdx.x; i < ROWS * UNITS; i += SPLIT_THREADS) {
        const i64 row = first_row + i / UNITS;
        const int unit = i % UNITS * UNIT;
        if (row >= split.rows || step + unit >= split.k) continue;
        const half_t* const high = &shared.turned[0][i / UNITS][unit];
        const half_t* const low = &shared.turned[1][i / UNITS][unit];
        *reinterpret_cast<Unit*>(split.high(row) + step + unit) = *reinterpret_cast<const Unit*>(high);
        *reinterpret_cast<Unit*>(split.low(row) + step + unit) = *reinterpret_cast<const Unit*>(low);
      }
    }
  }
};

__device__ __forceinline__ void split_across_k(const Split& split, i64 stripe, SplitShared& shared) {
  constexpr int ROWS = AcrossK::ROWS;
  AcrossK own{split, shared, stripe * ROWS};
  const int warp = threadIdx.x / 32;
  const bool is_first = threadIdx.x % 32 < ROWS;  // of the lanes of a row
  u32 largest = 0;
  i64 last = 0;
#pragma unroll 1
  for (i64 first = 0; first < split.k; first += AcrossK::SPAN) {
    own.load(first);
#pragma unroll
    for (float element : own.held) largest = larger(largest, magnitude_bits(element));
    last = first;
  }
  largest = largest_of_lanes<ROWS>(largest);
  if (is_first) shared.largest[warp][own.x] = largest;
  __syncthreads();
#pragma unroll
  for (int other = 0; other < SPLIT_WARPS; ++other) largest = larger(largest, shared.largest[other][own.x]);
  Splitter splitter{RowScale(largest).scale};
#pragma unroll 1
  for (i64 first = last; first >= 0; first -= AcrossK::SPAN) {
    if (first != last) own.load(first);
    own.store(splitter, first);
  }
  const int sure = sum_of_lanes<ROWS>(splitter.sure);
  const int needs_low = sum_of_lanes<ROWS>(splitter.needs_low);
  if (is_first) {
    shared.sure[warp][own.x] = sure;
    shared.needs_low[warp][own.x] = needs_low > 0 ? 1 : 0;
  }
  end_stripe<ROWS, SPLIT_WARPS>(split, stripe, shared);
}

// As the operand is stored.
template <bool ALONG_K, int VECTOR>
__device__ __forceinline__ void split_stripe(const Split& split, i64 stripe, SplitShared& shared) {
  if constexpr (ALONG_K) {
    split_along_k<VECTOR>(split, stripe, shared);
  } else {
    split_across_k(split, stripe, shared);
  }
}

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
