// Whether a stored decision still holds here. What makes it wrong is part of its identity: the kernel's source, the
// architecture, the compiler. What makes it stale changes its time but not its result: driver, clocks, power limit. So
// does, for what is to be done, a merge with decisions that may be as fast.
#pragma once

#include <string>

#include "db/trial.h"
#include "runtime/choose/dispatch.h"

namespace mmtune {

enum class Validity { current, stale, wrong };

/// "current", "stale" or "wrong".
std::string_view to_string(Validity validity);

struct State {
  Validity validity = Validity::current;
  std::string reason;  ///< "driver 570.86 then, 580.65 now"; empty if current
};

/// What rows are compared with. Empty or 0: unknown, and then nothing is compared.
struct Surroundings {
  std::string driver;
  std::string nvrtc;
  int clock_limit_mhz = 0;
  double power_limit_w = 0;
};

/// The surroundings of an installed GPU without the compiler, by NVML and the driver's files; touches no CUDA.
Surroundings surroundings_of(const DeviceSpec& device);

/// `device` is the row's: where it is unknown, the source cannot be compared and counts as unchanged.
State state_of(const Winner& winner, const std::optional<DeviceSpec>& device, const TemplateFiles& files,
               const Surroundings& now);

}  // namespace mmtune
