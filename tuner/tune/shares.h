// Which of several processes tunes which problems, where each has its own database and knows nothing of the others.
#pragma once

#include <cstdint>
#include <vector>

#include "templates/problem/problem.h"
#include "tuner/devices/device_choice.h"
#include "tuner/tune/session_options.h"

namespace mmtune {

/// A part of all problems.
struct Share {
  int number = 1;  ///< 1 to count
  int count = 1;   ///< 1 to kMostShares

  friend bool operator==(const Share&, const Share&) = default;
};

inline constexpr int kMostShares = 1'000'000;

struct ExpectedWork {
  Problem problem;
  std::int64_t expected_ms = 0;
};

/// How long the problem will take on an otherwise idle host: trials, at a fixed time each and so many calls at peak
/// rates, and the race. The constants are a fit to bench/results/nvidia-h200/two_gpus.txt. For the same options every
/// process comes to the same, on all cards that share results: it depends on what DeviceKey has of the device, and on
/// no clock, core or stored row.
std::int64_t expected_tuning_ms(const SessionOptions& options, const DeviceChoice& device, const Problem& problem);

/// Finds for each of these the number of its share, 1 to `count`: the longest first, each to the share that has least
/// so far (Graham, Bounds on multiprocessing timing anomalies, 1969: at most a third over the best distribution). A
/// function of the set and not of its order, where no problem is there twice.
std::vector<int> distribute(const std::vector<ExpectedWork>& work, int count);

/// The problems of the session that are in the share, in their order; for all of its models together.
std::vector<Problem> problems_of(const SessionOptions& options, const Share& share);

}  // namespace mmtune
