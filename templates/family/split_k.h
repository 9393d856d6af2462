// What the plans of families have in common whose blocks share a tile's k: they leave their sums to a second kernel,
// or, where resident blocks share the tiles of a last wave (stream-K, templates/device/shares.cuh), to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "templates/family/family.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {

/// Threads of a block of the kernel reduce(), and the results that it makes; rendered as REDUCE_THREADS.
inline constexpr int kReduceThreads = 256;

/// The place of SPLIT among a family's parameters; nothing if it has none.
std::optional<std::size_t> split_position(const Family& family);

/// The k of each of so many tiles is worth sharing among a power of two of blocks, one of which is never far from the
/// best, and among another number where these leave at most a tenth of the places free that their waves have.
void split_rule(Rules& rules, int split, std::int64_t tiles, std::int64_t wave);

/// The steps along k from which on sums are long: docs/accuracy.md.
inline constexpr std::int64_t kLongSums = 1024;

/// Whether few results have long sums, which some kernels divide and so round less.
bool is_thin(const Problem& problem, const DeviceSpec& device);

/// Others do, so a part has no more than 4096 steps along k there, or there are as many parts as a family has.
void long_part_rule(Rules& rules, const Problem& problem, int split, int most_parts, const DeviceSpec& device);

/// Appends the slice for the partial sums [parts][m][n], which is empty where nothing is split.
Arg add_partial_sums(LaunchPlan& plan, const Problem& problem, int parts);

/// What gemm gets to know of the parts: how many stages of `bk` steps along k each has.
Arg k_tiles_of_part(const Problem& problem, int parts, int bk);

/// The grid of blocks that have one of so many parts of a tile each, whose sums a step adds; see
/// templates/device/split.cuh.
Extent3 grid_of(std::int64_t blocks, int parts);

/// Appends the step that adds more than one part: reduce(m, n, alpha, beta, C, ldc, partial, parts), see
/// templates/device/reduce.cuh. Their number is not rendered.
void add_reduce_step(LaunchPlan& plan, const Problem& problem, Arg partial, int parts);

/// Threads of the one block of the kernel prepare(), rendered as PREPARE_THREADS.
inline constexpr int kPrepareThreads = 256;

/// The places where resident blocks leave sums for each other, and flags that say so. What they have in the workspace
/// is used again and again.
struct SharedSums {
  Arg tiles, flags;
  std::int64_t kept_bytes = 0;
};

/// Appends both slices, which are empty for no blocks.
SharedSums add_shared_sums(LaunchPlan& plan, std::int64_t blocks, std::int64_t bytes_of_block);

/// prepare(flags) lowers the flags.
LaunchStep prepare_step(Arg flags);

}  // namespace mmtune
