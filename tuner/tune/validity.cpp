#include "tuner/tune/validity.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/gpu/driver.h"
#include "runtime/gpu/nvml.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

constexpr double kSamePower = 0.01;  // Limits that differ by no more are the same.

std::string change(std::string_view what, const std::string& then, const std::string& now) {
  return then.empty() || now.empty() || then == now ? "" : fmt::format("{} {} then, {} now", what, then, now);
}

std::string change_of_clock(int then, int now) {
  if (then == 0 || now == 0 || then == now) return "";
  return fmt::format("clock limit {} MHz then, {} MHz now", then, now);
}

std::string change_of_power(double then, double now) {
  if (then == 0 || now == 0 || std::abs(then - now) <= kSamePower * then) return "";
  return fmt::format("power limit {:.0f} W then, {:.0f} W now", then, now);
}

}  // namespace

std::string_view to_string(Validity validity) {
  switch (validity) {
    case Validity::stale:
      return "stale";
    case Validity::wrong:
      return "wrong";
    case Validity::current:
      break;
  }
  return "current";
}

Surroundings surroundings_of(const DeviceSpec& device) {
  if (!device.installed) return {};
  const Nvml nvml(device.uuid);
  return {driver_release(), "", nvml.clock_limit_mhz().value_or(0), nvml.power_limit_w().value_or(0)};
}

State state_of(const Winner& winner, const std::optional<DeviceSpec>& device, const TemplateFiles& files,
               const Surroundings& now) {
  const Trial& trial = winner.trial;
  if (device) {
    if (auto reason = why_unusable(trial.key, winner.binary, *device, files); !reason.empty())
      return {Validity::wrong, reason};
  }
  if (winner.binary.hash.empty()) return {Validity::wrong, "its machine code is not stored here: tune again"};
  if (auto reason = change("NVRTC", trial.environment.nvrtc, now.nvrtc); !reason.empty()) {
    return {Validity::wrong, reason};
  }
  if (winner.near_ties > 0) {
    return {Validity::stale, fmt::format("merged with {} as fast", counted(winner.near_ties, "other decision"))};
  }
  for (auto& reason : {change("driver", trial.environment.driver, now.driver),
                       change_of_clock(trial.timing.conditions.clock_limit_mhz, now.clock_limit_mhz),
                       change_of_power(trial.timing.conditions.power_limit_w, now.power_limit_w)}) {
    if (!reason.empty()) return {Validity::stale, reason};
  }
  return {};
}

}  // namespace mmtune
