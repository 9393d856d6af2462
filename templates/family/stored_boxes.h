// The tensor map through which warps store C in boxes.
#pragma once

#include "templates/plan/launch_plan.h"
#include "templates/problem/dtype.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// The rows of a box of C, those that a warp has of a fragment.
inline constexpr int kStoredBoxRows = 16;

inline bool stores_boxes(const Problem& problem) { return problem.align.c == 16; }

/// A map of C in boxes of kStoredBoxRows by `line_bytes`. Where C cannot be stored through a map, the kernel gets
/// `other` and does not look at it.
inline Arg map_of_c(LaunchPlan& plan, const Problem& problem, int line_bytes, Arg other) {
  if (!stores_boxes(problem)) return other;
  const int bytes = traits(problem.precision).c.bytes;
  return plan.add_map({.name = "C",
                       .base = Arg::operand(Operand::c),
                       .format = bits_format(bytes),
                       .dimensions = {{problem.n, line_bytes / bytes}, {problem.m, kStoredBoxRows, {.rows = 1}}},
                       .swizzle_bytes = line_bytes});
}

}  // namespace mmtune
