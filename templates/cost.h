// The analytic model: a predicted time from a launch plan and a GPU's limits. It ranks candidates before they are
// compiled, serves sizes that nobody tuned and GPUs that are not there. Predicted, and called so wherever it shows.
#pragma once

#include "templates/device_spec.h"
#include "templates/launch_plan.h"
#include "templates/occupancy.h"

namespace mmtune {

/// What limits a predicted time.
enum class Bottleneck { arithmetic, shared_memory, l2, memory, latency, launch };

std::string_view to_string(Bottleneck bottleneck);

struct Prediction {
  double time_us = 0;
  double waves = 0;          ///< how many times the GPU is filled with blocks; the last one may be partial
  Bottleneck bottleneck = Bottleneck::arithmetic;
};

/// Uses the compiler's registers and the occupancy that follows from them where they are known, else
/// plan.work.registers.
Prediction predict(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device,
                   int registers_per_thread);

}  // namespace mmtune
