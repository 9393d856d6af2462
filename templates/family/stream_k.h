// What the plans of families have in common whose resident blocks share the tiles of a last wave (stream-K); see
// templates/device/shares.cuh.
#pragma once

#include "templates/plan/launch_plan.h"

namespace mmtune {

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
