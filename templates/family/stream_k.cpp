#include "templates/family/stream_k.h"

namespace mmtune {

SharedSums add_shared_sums(LaunchPlan& plan, std::int64_t blocks, std::int64_t bytes_of_block) {
  constexpr std::int64_t kFlagBytes = 4;
  return {.tiles = plan.workspace.add("sums of blocks", blocks * bytes_of_block).as("sums"),
          .flags = plan.workspace.add("flags", blocks * kFlagBytes).as("flags"),
          .kept_bytes = blocks * (bytes_of_block + kFlagBytes)};
}

LaunchStep prepare_step(Arg flags) {
  LaunchStep step;
  step.kernel = "prepare";
  step.block.x = kPrepareThreads;
  step.args = {flags};
  return step;
}

}  // namespace mmtune
