// What no kernel can be faster than: a time below it comes from a broken clock, or from no measurement.
#pragma once

#include <array>

#include "db/trial.h"

namespace mmtune {

/// The shortest times on the GPUs of a key. The bounds are the operations at the rate of the fastest unit that could be
/// used, the operands and C through the caches of all SMs, and what of them does not fit into L2 from memory: all at a
/// clock that no card of the model reaches. Of an architecture without a row in the table of rates nothing is known,
/// and every time is possible.
class SpeedLimit {
 public:
  explicit SpeedLimit(const DeviceKey& device);

  /// Microseconds for one product; 0 where nothing is known.
  double least_us(const Problem& problem) const;

 private:
  /// Multiply-adds a clock and SM, by Precision.
  using Rates = std::array<double, kAllPrecisions.size()>;
  static const Rates* rates_of(int compute_capability);

  const Rates* rates_;  ///< null where they are not known
  double sm_count_;
  double clock_mhz_;
  double bandwidth_gb_s_;  ///< infinite where it is not known
  double l2_bytes_ = 0;
};

}  // namespace mmtune
