// What sizes would lose whose decision a library did not know.
#pragma once

#include <vector>

#include "runtime/choose/dispatch.h"

namespace mmtune {

/// A decided size, and the kernel that is chosen for it without its decision.
struct HeldOut {
  Problem problem;
  double us = 0;          ///< the time that this kernel takes: limited_us()
  double decided_us = 0;  ///< the time that the decided one takes
};

/// Leaves out all decided sizes, one part of them after the other. Sizes at which the chosen kernel was not measured
/// are missing.
std::vector<HeldOut> hold_out(const DeviceSpec& device, const StoredKernels& kernels);

}  // namespace mmtune
