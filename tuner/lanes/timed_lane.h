// A lane that notes how long it is at work.
#pragma once

#include <memory>

#include "tuner/lanes/lane.h"

namespace mmtune {

/// What the time of a lane goes to.
struct LaneTimes {
  double judging_s = 0;  ///< checks and samples of single programs
  double racing_s = 0;

  LaneTimes& operator+=(const LaneTimes& other) {
    judging_s += other.judging_s;
    racing_s += other.racing_s;
    return *this;
  }
};

/// Adds what `lane` does to `times`, which must outlive it.
std::unique_ptr<Lane> make_timed_lane(std::unique_ptr<Lane> lane, LaneTimes& times);

}  // namespace mmtune
