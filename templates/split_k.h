// What the plans of families have in common whose blocks share a tile's k and leave their sums to a second kernel.
#pragma once

#include <cstdint>
#include <string_view>

#include "templates/launch_plan.h"

namespace mmtune {

/// What families call the parameter that says how many blocks share a tile's k.
inline constexpr std::string_view kSplit = "SPLIT";

/// Threads of a block of the kernel reduce(), and the results that it makes; rendered as REDUCE_THREADS.
inline constexpr int kReduceThreads = 256;

/// Whether a tile's k is worth sharing among so many: as powers of two, one of which is never far from the best; as
/// other numbers where `blocks` in all leave at most a tenth of the places free that their waves have.
bool is_worth_splitting(int split, std::int64_t blocks, std::int64_t wave);
inline constexpr std::string_view kWorthSplitting = "SPLIT is a power of two, or fills waves with blocks";

/// Appends the slice for the partial sums [parts][m][n], which is empty where nothing is split.
Arg add_partial_sums(LaunchPlan& plan, const Problem& problem, int parts);

/// reduce(m, n, alpha, beta, C, ldc, partial); see templates/device/reduce.cuh.
LaunchStep reduce_step(const Problem& problem, Arg partial);

}  // namespace mmtune
