#include "tuner/measure/conditions.h"

#include <algorithm>
#include <cmath>

namespace mmtune {

Reading read(const Nvml& nvml, bool with_processes) {
  Reading reading{nvml.sm_clock_mhz(), nvml.memory_clock_mhz(), nvml.throttle(), std::nullopt};
  // This process is one of them, unless a container hides them all.
  if (const auto processes = with_processes ? nvml.processes() : std::nullopt) {
    reading.co_tenants = std::max(0, *processes - 1);
  }
  return reading;
}

bool disturbs(const Reading& reading) {
  return (reading.throttle & ~kPowerCap) != 0 || reading.co_tenants.value_or(0) > 0;
}

void Conditions::add(const Reading& reading, int disturbed_samples) {
  disturbed_ += disturbed_samples;
  if (reading.sm_clock_mhz) {
    sm_sum_ += *reading.sm_clock_mhz;
    ++sm_count_;
  }
  if (reading.memory_clock_mhz) {
    memory_sum_ += *reading.memory_clock_mhz;
    ++memory_count_;
  }
  throttle_ |= reading.throttle;
  if (reading.co_tenants) co_tenants_ = std::max(*reading.co_tenants, co_tenants_.value_or(0));
}

void Conditions::describe(Timing& timing) const {
  timing.sm_clock_mhz = sm_count_ > 0 ? std::round(sm_sum_ / sm_count_) : 0;
  timing.conditions.memory_clock_mhz = memory_count_ > 0 ? std::round(memory_sum_ / memory_count_) : 0;
  timing.throttle = throttle_;
  timing.conditions.co_tenants = co_tenants_.value_or(-1);
  timing.disturbed = disturbed_;
}

}  // namespace mmtune
