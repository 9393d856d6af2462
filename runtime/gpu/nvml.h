// NVML: clocks, power and neighbours of a GPU while it works. Opened at run time, and all of it optional: what cannot
// be found out is unknown, never an error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mmtune {

/// One GPU's sensors. Thread safe.
class Nvml {
 public:
  /// `uuid` is that of DeviceSpec. Never throws for what is missing: then everything is unknown.
  explicit Nvml(const std::string& uuid);
  /// The first of these libraries that loads, instead of the driver's.
  Nvml(const std::string& uuid, const std::vector<std::string>& libraries);

  std::optional<int> sm_clock_mhz() const;
  std::optional<int> memory_clock_mhz() const;
  std::optional<double> power_w() const;

  /// The SM clock that the GPU is set to work at: that for applications, where it can be set, else the highest.
  std::optional<int> clock_limit_mhz() const;
  /// The power limit in force.
  std::optional<double> power_limit_w() const;

  /// What holds the clocks down right now, as bits of db/trial.h's Throttle; 0 if nothing does or it is unknown.
  int throttle() const;

  /// Processes with a context on the GPU, this one among them.
  std::optional<int> processes() const;

 private:
  struct Session;
  std::shared_ptr<const Session> session_;
};

}  // namespace mmtune
