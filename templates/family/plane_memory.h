// Planes of 16-bit parts of an operand in the workspace: rows along k, called so for op(A) and columns of op(B) alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "templates/base/round_up.h"
#include "templates/problem/problem.h"
#include "templates/problem/tiling.h"

namespace mmtune {

inline constexpr int kPartBytes = 2;  ///< the bytes of an element of a plane

/// The elements from a row of a plane to the next: whole lines of memory.
inline std::int64_t planes_ld(const Problem& problem) {
  constexpr int kElements = kMemoryLine / kPartBytes;
  return round_up(std::max<std::int64_t>(1, problem.k), kElements);
}

inline std::int64_t plane_bytes(const Problem& problem, std::int64_t rows) {
  return rows * planes_ld(problem) * kPartBytes;
}

}  // namespace mmtune
