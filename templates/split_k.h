// What the plans of families have in common whose blocks share a tile's k and leave their sums to a second kernel.
#pragma once

#include "templates/launch_plan.h"

namespace mmtune {

/// Threads of a block of the kernel reduce(), and the results that it makes; rendered as REDUCE_THREADS.
inline constexpr int kReduceThreads = 256;

/// Appends the slice for the partial sums [parts][m][n], which is empty where nothing is split.
Arg add_partial_sums(LaunchPlan& plan, const Problem& problem, int parts);

/// reduce(m, n, alpha, beta, C, ldc, partial); see templates/device/reduce.cuh.
LaunchStep reduce_step(const Problem& problem, Arg partial);

}  // namespace mmtune
