// The analytic model: a predicted time from a launch plan and a GPU's limits. It ranks candidates before they are
// compiled, serves sizes that nobody tuned and GPUs that are not there. Predicted, and called so wherever it shows.
#pragma once

#include <string_view>

#include "templates/device_spec.h"
#include "templates/launch_plan.h"
#include "templates/problem.h"

namespace mmtune {

/// What limits a predicted time.
enum class Bottleneck { arithmetic, shared_memory, l2, memory, latency, launch };

std::string_view to_string(Bottleneck bottleneck);

struct Prediction {
  double time_us = 0;
  double waves = 0;  ///< how many times the GPU is filled with blocks; the last one may be partial
  Bottleneck bottleneck = Bottleneck::arithmetic;
};

/// Registers and the occupancy that follows are the compiler's where they are known, else (registers_per_thread = 0)
/// plan.work.registers. The time is infinite where a block does not fit the device, and 0 for an empty C.
Prediction predict(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, int registers_per_thread);

}  // namespace mmtune
