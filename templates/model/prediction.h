// What the analytic model says of a call.
#pragma once

#include <algorithm>
#include <array>

#include "templates/model/clocks.h"

namespace mmtune {

struct Prediction {
  double time_us = 0;
  double analytic_us = 0;  ///< the time before its correction, see templates/model/correction.h
  double waves = 0;        ///< the times that the GPU is filled with blocks; the last wave may be partial
  /// Shares of the time, by Bottleneck; zeros where the time is 0 or infinite.
  std::array<double, kBottlenecks> shares{};

  /// The largest share.
  Bottleneck bottleneck() const {
    return static_cast<Bottleneck>(std::max_element(shares.begin(), shares.end()) - shares.begin());
  }
};

}  // namespace mmtune
