// How an fp32 operand becomes three planes of bf16, which have all its bits: an element is the sum of the first eight
// of its significand, the next eight, and the last. Each part is cut off, not rounded, so that none overflows. Only
// what lies below 2^-133, the smallest number of bf16, is lost: some bits of elements below 2^-110.
//
// An operand of bf16 is a plane itself; it is copied where it does not lie along k, or not aligned to 16 bytes.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/index.cuh"

constexpr int SPLIT_TILE = 64;  // rows, and steps along k, of a block
constexpr int SPLIT_UNIT = 8;   // steps along k that a thread writes at once

// The parts of an element, the first bits in the first.
__device__ __forceinline__ void cut(bfloat_t element, bfloat_t (&parts)[1]) { parts[0] = element; }
__device__ __forceinline__ void cut(float element, bfloat_t (&parts)[3]) {
  constexpr u32 EXPONENT = 0x7f800000u, SIGNLESS = 0x7fffffffu, QUIET = 0x00400000u;
  u32 bits = __builtin_bit_cast(u32, element);
  const bool is_finite = (bits & EXPONENT) != EXPONENT;
  if ((bits & SIGNLESS) > EXPONENT) bits |= QUIET;  // the bits of a NaN may be its last
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    parts[i].bits = static_cast<unsigned short>(bits >> 16);
    element -= to_float(parts[i]);
    bits = is_finite ? __builtin_bit_cast(u32, element) : 0;
  }
}

// The same by parts that are rounded, so that the last two are as small as can be: for elements below 2^127.
struct Rounded {
  __device__ __forceinline__ void operator()(float element, bfloat_t (&parts)[3]) const {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      parts[i] = to_bfloat(element);
      element -= to_float(parts[i]);
    }
  }
};
struct Cut {
  template <class Element, int PLANES>
  __device__ __forceinline__ void operator()(Element element, bfloat_t (&parts)[PLANES]) const {
    cut(element, parts);
  }
};

// Writes a tile of an operand, whose rows of op(A) or columns of op(B) are both called rows here, to `PLANES` planes
// along k, which lie one below the other. Behind the last step come zeros. For all BLOCK threads of a block.
template <int PLANES, bool ALONG_K, int VECTOR, int BLOCK, class Parts, class Element>
__device__ __forceinline__ void split_tile(i64 tile, const Element* source, i64 ld, i64 rows, i64 k, bfloat_t* planes,
                                           i64 planes_ld, unsigned char* bytes) {
  constexpr int VECTORS = SPLIT_TILE / VECTOR, UNITS = SPLIT_TILE / SPLIT_UNIT;  // those of a line
  using Line = Element[SPLIT_TILE + 1];  // spread over the banks
  static_assert(sizeof(Line) * SPLIT_TILE <= SPLIT_SMEM_BYTES, "host and kernel disagree on shared memory");
  Line* const held = reinterpret_cast<Line*>(bytes);
  const i64 tiles_k = ceil_div(k, SPLIT_TILE);
  const i64 first_row = tile / tiles_k * SPLIT_TILE, first_step = tile % tiles_k * SPLIT_TILE;
  const i64 lines_left = ALONG_K ? rows - first_row : k - first_step;
  const i64 left = ALONG_K ? k - first_step : rows - first_row;
  source += ALONG_K ? first_row * ld + first_step : first_step * ld + first_row;
  constexpr int EACH = SPLIT_TILE * VECTORS / BLOCK, LINES = BLOCK / VECTORS;
  const int first_line = threadIdx.x / VECTORS, at = threadIdx.x % VECTORS * VECTOR;
  Vector<Element, VECTOR> parts[EACH];  // all on their way before the first is waited for
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    const int line = first_line + i * LINES;
    parts[i] = load_if<VECTOR>(line < lines_left && at < left, source + line * ld + at);
  }
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    const int line = first_line + i * LINES;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) (ALONG_K ? held[line][at + v] : held[at + v][line]) = parts[i].at[v];
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < SPLIT_TILE * UNITS; i += BLOCK) {
    const int row = i / UNITS, step = i % UNITS * SPLIT_UNIT;
    if (row >= rows - first_row) break;
    Vector<bfloat_t, SPLIT_UNIT> units[PLANES];
#pragma unroll
    for (int s = 0; s < SPLIT_UNIT; ++s) {
      bfloat_t parts[PLANES];
      Parts()(held[row][step + s], parts);
#pragma unroll
      for (int plane = 0; plane < PLANES; ++plane) units[plane].at[s] = parts[plane];
    }
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) {
      bfloat_t* const target = planes + (plane * rows + first_row + row) * planes_ld + first_step + step;
      *reinterpret_cast<Vector<bfloat_t, SPLIT_UNIT>*>(target) = units[plane];
    }
  }
}
