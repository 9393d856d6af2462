// Rates that the analytic model makes of its numbers for one GPU. docs/measuring.md says how far off the model is.
#pragma once

#include "templates/gpu/device_spec.h"
#include "templates/model/numbers.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {

/// What a way of fetching reaches. Of loads, what reads fall short of the bandwidth is in other numbers.
struct FetchRates {
  double l2_bytes_per_clock;    ///< the bytes that L2 brings an SM while all load
  double read_share;            ///< the share of device memory's bandwidth that reads reach
  double store_share;           ///< the share that stores reach
  double launch_us;             ///< the time of the first launch
  double beside_us;             ///< what that takes less where the blocks of the next call find room beside
  double copy_us;               ///< the time that a first step for copies adds
  double copy_bytes_per_clock;  ///< the bytes that such a copy reads and writes on an SM
};
FetchRates rates_of(const ModelNumbers& numbers, Fetch fetch);

/// Multiply-adds a clock and SM by instructions of a warp, mma.sync. On compute capability 9.0 the peak is that of
/// wgmma, a warpgroup's instruction, for the units that it has; a warp's reach a share of it.
double warp_fma_per_clock_per_sm(const DeviceSpec& device, Unit unit);

inline double memory_bytes_per_clock(const DeviceSpec& device) {
  return device.memory_bandwidth_gb_s * 1e3 / device.core_clock_mhz;
}

}  // namespace mmtune
