// The conditions under which samples are taken: clocks, what holds them down, and what else uses the GPU.
#pragma once

#include <optional>

#include "db/trial.h"
#include "runtime/gpu/nvml.h"

namespace mmtune {

/// What the sensors say at one moment.
struct Reading {
  std::optional<int> sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  int throttle = 0;  ///< bits of Throttle
  std::optional<int> co_tenants;
};

/// `with_processes` also counts those, which takes longer.
Reading read(const Nvml& nvml, bool with_processes);

/// Whether a sample taken meanwhile says more about the surroundings than about the kernel: the GPU is slowed down or
/// shared. The power cap does not count: a heavy kernel meets it every time.
bool disturbs(const Reading& reading);

/// Readings of one measurement, summed up.
class Conditions {
 public:
  /// A reading, and how many samples it disturbed that count all the same.
  void add(const Reading& reading, int disturbed_samples);

  /// Writes what was read into a timing: mean clocks, all reasons, most company, disturbed samples.
  void describe(Timing& timing) const;

 private:
  double sm_sum_ = 0;
  double memory_sum_ = 0;
  int sm_count_ = 0;
  int memory_count_ = 0;
  int throttle_ = 0;
  int disturbed_ = 0;
  std::optional<int> co_tenants_;
};

}  // namespace mmtune
