// A matrix product as something that can be enqueued: one of mmtune's kernels or another library's function.
#pragma once

#include <functional>

#include "runtime/gpu/launch.h"

namespace mmtune {

/// Enqueues one product on a stream without waiting, so that it may be captured into a graph. Knows its problem and
/// its own workspace: of the operands only addresses, leading dimensions and scalars matter. Throws DeviceError.
using Call = std::function<void(const Operands&, CUstream)>;

/// `kernel` and `plan` must outlive the call.
inline Call call_of(const LoadedKernel& kernel, const LaunchPlan& plan, const Problem& problem, CUdeviceptr workspace) {
  return [&kernel, &plan, problem, workspace](Operands operands, CUstream stream) {
    operands.workspace = workspace;
    launch(kernel, plan, problem, operands, stream);
  };
}

}  // namespace mmtune
