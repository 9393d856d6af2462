// Arithmetic that the plans of several families share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "templates/dtype.h"
#include "templates/problem.h"

namespace mmtune {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Tiles of tile_m x tile_n elements that cover C.
constexpr std::int64_t tiles_of_c(const Problem& problem, int tile_m, int tile_n) {
  return ceil_div(problem.m, tile_m) * ceil_div(problem.n, tile_n);
}

/// Bytes of A and B that a block fetches for one step along k, if its L1 cache or shared memory serves all reuse: an
/// operand that is contiguous along k uses every byte of its 32-byte sectors in later steps, the other may not.
inline double fetched_bytes_per_k(const Problem& problem, int tile_m, int tile_n) {
  constexpr int kSectorBytes = 32;
  const int bytes = traits(problem.precision).element_bytes;
  const int a = transposes_a(problem.layout) ? std::max(kSectorBytes, tile_m * bytes) : tile_m * bytes;
  const int b = transposes_b(problem.layout) ? tile_n * bytes : std::max(kSectorBytes, tile_n * bytes);
  return a + b;
}

/// Instructions that turn an element into an arithmetic type: 16-bit formats are widened.
inline int widening_slots(const Problem& problem) {
  const PrecisionTraits& types = traits(problem.precision);
  return types.element_bytes < types.accumulator_bytes ? 1 : 0;
}

/// 32-bit registers of one accumulator.
inline int accumulator_registers(const Problem& problem) { return traits(problem.precision).accumulator_bytes / 4; }

}  // namespace mmtune
