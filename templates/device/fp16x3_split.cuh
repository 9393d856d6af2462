// How elements of fp32 become two of fp16 each, and what is counted meanwhile, which fp16x3_planes.cuh explains: what
// fp16x3_along_k.cuh and fp16x3_across_k.cuh share. Needs the rendered constants SPLIT_THREADS, SPLIT_SMEM_BYTES and
// STRIPE_BLOCKS: the blocks of a cluster that share a stripe of rows whose elements lie apart; 1 where there are no
// clusters.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/index.cuh"
#include "mmtune/tma.cuh"

// What is known of the rows of op(A), or columns of op(B), that one block scales.
struct Stripe {
  int sure;  // the least of its rows
  u32 needs;
};
constexpr u32 NEEDS_LOW = 1;   // An element has more than a high part, or a row is not scaled.
constexpr u32 NEEDS_FP32 = 2;  // An element is not in the range in which planes of bf16 are as good as fp32.

constexpr int LARGEST_EXPONENT = 14;            // the exponent that scaled elements reach at most
constexpr float LARGE = 256;                    // 2^8
constexpr float LEAST_NORMAL = 0.25f;           // the least scaled element whose low part has all its bits
constexpr int SURE_TERMS = 32;                  // the terms of a product from which on their errors are averaged
constexpr int SURE_OF_ZEROS = 1 << 30;          // the mark of a row of zeros: more than any extent
constexpr int UNSURE = -(1 << 30) - (1 << 30);  // the mark of an unscaled row: less than any other makes up for
constexpr u32 SIGNLESS = 0x7fffffffu;
// Largest elements whose rows are scaled, as bits: 2^-94 up to 2^81. Products and sums of the scaled ones, times the
// inverse scales, stay in fp32's range where the results do. Infinities and NaN have larger bits.
constexpr u32 LEAST_SCALED = (127u - 94u) << 23;
constexpr u32 SCALED_END = (127u + 81u) << 23;
// Elements for planes of bf16: the last of 24 bits is one of bf16 from 2^-110 on, and no sum of less than 2^28 products
// overflows below 2^50. Smaller elements are below LEAST_NORMAL when scaled.
constexpr u32 LEAST_BF16 = (127u - 110u) << 23;
constexpr u32 BF16_END = (127u + 50u) << 23;

__device__ __forceinline__ float from_bits(u32 bits) { return __builtin_bit_cast(float, bits); }
__device__ __forceinline__ u32 magnitude_bits(float value) { return __builtin_bit_cast(u32, value) & SIGNLESS; }

// The factor of a row whose largest magnitude has these bits, and its inverse; a row of zeros is scaled by 1.
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
  u32 needs = 0;
  u32 rests = 0;           // Other than 0, an element has more than a high part.
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
      const bool is_there = scaled != 0 || elements[i] == 0;  // It has not underflowed.
      const bool is_lossy = from_bits(magnitude_bits(scaled)) < LEAST_NORMAL && !(is_there && high + low == scaled);
      sure -= is_lossy ? 1 : 0;
      findings.rests |= is_there ? 0 : 1;
      if (elements[i] != 0 && magnitude_bits(elements[i]) < LEAST_BF16) findings.needs |= NEEDS_FP32;
    }
  }
};

template <class T>
__device__ __forceinline__ T larger(T a, T b) {
  return a > b ? a : b;
}

// The largest value of the warp's lanes whose numbers differ by multiples of STEP.
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

// What any lane of the warp has of bits.
__device__ __forceinline__ u32 all_of_lanes(u32 bits) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) bits |= __shfl_xor_sync(~0u, bits, distance);
  return bits;
}

constexpr int PLANE_UNIT = 8;  // steps along k: behind a row's last, zeros fill the 16 bytes that are read at once

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
constexpr int ALONG_ROWS = 8;    // the rows of a stripe whose rows lie along k
constexpr int ACROSS_ROWS = 32;  // the most rows of another stripe
struct SplitShared {
  alignas(16) float held[SPLIT_HELD * SPLIT_THREADS];  // the elements in the order of Held
  u32 largest[SPLIT_WARPS][ACROSS_ROWS];  // the largest element of a warp's part of each row
  int sure[SPLIT_WARPS][ACROSS_ROWS];
  u32 needs[SPLIT_WARPS];
  Stripe of_block[ACROSS_ROWS];  // the block's findings about rows that others share
  u32 largest_of_block[ACROSS_ROWS];
  u32 largest_of_rows[STRIPE_BLOCKS][ACROSS_ROWS];  // the largest elements that every block found
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

// Notes what the elements of each warp need; to be called by whole warps.
__device__ __forceinline__ void note_needs(SplitShared& shared, const Findings& findings) {
  const u32 needs = all_of_lanes(findings.needs | (findings.rests != 0 ? NEEDS_LOW : 0));
  if (threadIdx.x % 32 == 0) shared.needs[threadIdx.x / 32] = needs;
}

// What so many warps have counted of a row; what it needs, any row of the block's does.
__device__ __forceinline__ Stripe count_row(const SplitShared& shared, int row, int warps) {
  Stripe result{0, 0};
#pragma unroll 1
  for (int warp = 0; warp < warps; ++warp) result.sure += shared.sure[warp][row];
#pragma unroll 1
  for (int warp = 0; warp < SPLIT_WARPS; ++warp) result.needs |= shared.needs[warp];
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
    result.needs = of_row.needs | (scale.is_scaled ? 0 : NEEDS_LOW) | (largest < BF16_END ? 0 : NEEDS_FP32);
    const i64 row = stripe * ROWS + lane;
    if (row < split.rows) split.inverse[row] = scale.inverse;
  }
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_xor_sync(~0u, result.sure, distance);
    result.sure = other < result.sure ? other : result.sure;
  }
  result.needs = all_of_lanes(result.needs);
  if (lane == 0) split.stripes[stripe] = result;
}
