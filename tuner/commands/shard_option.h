// The share of the problems that one of several nodes tunes: --shard, or what the engine that starts them says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tuner/commands/option.h"
#include "tuner/tune/shares.h"

namespace mmtune {

struct ChosenShare {
  Share share;
  std::string origin;  ///< "--shard", "SLURM_ARRAY_TASK_ID 7 of 16 tasks"; empty: nothing says that there are shares
};

/// --shard; `shard` stays empty without it.
Option shard_option(std::optional<Share>& shard);

/// Leaves the problems of the share that `named` or, without it, the environment says, and tells which they are and by
/// what. Returns the share; 1/1, where nothing is shared. Throws UsageError.
Share take_share(SessionOptions& session, const std::optional<Share>& named);

/// "3/16", or "none" for 1/1. Throws UsageError.
Share parse_share(std::string_view text);

/// What Slurm says: a task of an array, one of the tasks that srun started, or one of those of an array's task. Else
/// what Kubernetes says of a pod of an Indexed Job: its index alone; MMTUNE_SHARDS says how many there are. Throws
/// UsageError for values that do not go together.
ChosenShare share_in_environment();

}  // namespace mmtune
