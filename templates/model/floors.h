// What bounds every kernel of a problem.
#pragma once

#include <algorithm>

#include "templates/gpu/device_spec.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// What no kernel can be faster than: the operations at a unit's peak, and the operands and C moved once each at the
/// bandwidth of device memory. Infinite where the rate is 0.
struct Floors {
  double arithmetic_us = 0;
  double memory_us = 0;

  double least_us() const { return std::max(arithmetic_us, memory_us); }  ///< the shortest time of one call
};

Floors floors(const Problem& problem, double peak_tflops, const DeviceSpec& device);

}  // namespace mmtune
