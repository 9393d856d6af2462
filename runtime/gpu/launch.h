// The way from a launch plan to driver calls.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/gpu/arguments.h"
#include "runtime/gpu/driver.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {

/// A loaded program with one function per distinct step of its plan, its limits raised to what the plan needs.
class LoadedKernel {
 public:
  /// Throws DeviceError if the image cannot be loaded or the plan exceeds what the driver allows.
  LoadedKernel(const std::string& cubin, const LaunchPlan& plan);
  ~LoadedKernel();  ///< in the context of the program, whichever is current
  LoadedKernel(LoadedKernel&&) = default;
  LoadedKernel& operator=(LoadedKernel&&) = delete;  // It would unload in whichever context is current.

  CUfunction function(std::size_t step) const { return steps_[step].function; }
  /// The blocks along x: the step's grid, or fewer where blocks take turns and the GPU holds no more of their clusters.
  std::int64_t blocks(const LaunchPlan& plan, std::size_t step) const;

 private:
  struct Step {
    CUfunction function = nullptr;
    std::int64_t most_blocks = 0;  ///< the most blocks along x
  };

  CUcontext context_ = nullptr;
  Module module_;
  std::vector<Step> steps_;
};

/// Most products that one launch of the program can have, which is for a batch, with a workspace of so many bytes: each
/// has a part of its own. At least 1, for which plan.workspace.bytes() are needed.
std::int64_t products_at_once(const LaunchPlan& plan, std::int64_t workspace_bytes);

/// Bytes of workspace for so many of them.
std::int64_t batch_workspace_bytes(const LaunchPlan& plan, std::int64_t products);

/// Enqueues the plan's steps on the stream. Empty outputs launch nothing; alpha = 0 and k = 0 both run with both zero,
/// so that A and B are not read, as BLAS has it, and C becomes beta * C whatever alpha is. Does not synchronise or
/// allocate on the GPU; may be captured into a graph. The context of the kernel must be current. Throws UsageError for
/// operands that check_operands refuses. Of a batch there may be at most products_at_once().
void launch(const LoadedKernel& kernel, const LaunchPlan& plan, const Problem& problem, const Operands& operands,
            CUstream stream);

}  // namespace mmtune
