#include "templates/family/stream_k.h"

namespace mmtune {

SharedSums add_shared_sums(LaunchPlan& plan, std::int64_t blocks, std::int64_t bytes_of_block,
                           std::int64_t flags_of_block) {
  const std::int64_t flag_bytes = 4 * flags_of_block;
  return {.tiles = plan.workspace.add("sums of blocks", blocks * bytes_of_block).as("sums"),
          .flags = plan.workspace.add("flags", blocks * flag_bytes).as("flags"),
          .kept_bytes = blocks * (bytes_of_block + flag_bytes)};
}

LaunchStep prepare_step(Arg flags) {
  LaunchStep step;
  step.kernel = "prepare";
  step.block.x = kPrepareThreads;
  step.args = {flags};
  return step;
}

}  // namespace mmtune
