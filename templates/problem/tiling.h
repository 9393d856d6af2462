// Arithmetic that the plans of several families share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "templates/base/round_up.h"
#include "templates/problem/dtype.h"
#include "templates/problem/problem.h"

namespace mmtune {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Tiles of tile_m x tile_n elements that cover C.
constexpr std::int64_t tiles_of_c(const Problem& problem, int tile_m, int tile_n) {
  return ceil_div(problem.m, tile_m) * ceil_div(problem.n, tile_n);
}

/// Extents that leave 32 bits of a coordinate room for the tiles of a cluster, the last of which end behind them.
inline constexpr std::int64_t kCoordinatesEnd = (std::int64_t{1} << 31) - 2048;
constexpr bool has_coordinates(const Problem& problem) {
  return std::max({problem.m, problem.n, problem.k}) < kCoordinatesEnd;
}

inline constexpr int kMemoryLine = 128;   ///< bytes of a line of memory
inline constexpr int kMemorySector = 32;  ///< the bytes of a line that L2 delivers at once

/// The bytes to which all rows are aligned in lines of memory, at most a whole one: what rows begin between are
/// multiples of the greatest common divisor.
constexpr std::int64_t row_alignment(const StoredShape& shape, int element_bytes) {
  return std::gcd(shape.columns * element_bytes, std::int64_t{kMemoryLine});
}

/// Whether a row of the operand is a whole number of lines, so that no line of a tile straddles two of global memory.
constexpr bool fills_lines(const StoredShape& shape, int element_bytes) {
  return row_alignment(shape, element_bytes) == kMemoryLine;
}

/// Bytes of A and B that a block fetches for one step along k, if its L1 cache or shared memory serves all reuse: an
/// operand that is contiguous along k uses every byte of its 32-byte sectors in later steps, the other may not.
inline double fetched_bytes_per_k(const Problem& problem, int tile_m, int tile_n) {
  const PrecisionTraits& types = traits(problem.precision);
  const int a = tile_m * types.a.bytes;
  const int b = tile_n * types.b.bytes;
  return (transposes_a(problem.layout) ? std::max(kMemorySector, a) : a) +
         (transposes_b(problem.layout) ? b : std::max(kMemorySector, b));
}

/// Bytes of a struct of some elements of A and then some of B, each at a whole multiple of its own size, as a kernel
/// declares it in shared memory.
inline int bytes_of_both(const PrecisionTraits& types, int elements_a, int elements_b) {
  const int begin_b = round_up(elements_a * types.a.bytes, types.b.bytes);
  return round_up(begin_b + elements_b * types.b.bytes, std::max(types.a.bytes, types.b.bytes));
}

/// Whether A and B are stored as the accumulator's bits, and can be copied to where a kernel multiplies them.
inline bool multiplied_as_stored(const Problem& problem) {
  const PrecisionTraits& types = traits(problem.precision);
  return same_bits(types.a, types.accumulator) && same_bits(types.b, types.accumulator);
}

/// Instructions that turn an element into an arithmetic type: 16-bit formats are widened.
inline int widening_slots(const Problem& problem) { return multiplied_as_stored(problem) ? 0 : 1; }

/// Bytes of shared memory that reading one element of A or B takes: banks have four.
inline int bank_bytes(const FormatTraits& format) { return std::max(4, format.bytes); }

/// 32-bit registers of one accumulator.
inline int accumulator_registers(const Problem& problem) { return traits(problem.precision).accumulator.bytes / 4; }

}  // namespace mmtune
