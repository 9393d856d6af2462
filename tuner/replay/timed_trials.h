// Stored trials that have a time, problem by problem: what models and devices are held against.
#pragma once

#include <span>
#include <vector>

#include "db/store.h"
#include "tuner/lanes/candidate.h"

namespace mmtune {

struct TimedTrial {
  Candidate candidate;  ///< the candidate, of a family and with values that this program has
  Trial trial;          ///< a trial that is ok or too slow
};

/// All of one problem, fastest first; of several of one configuration the latest.
struct TimedProblem {
  Problem problem;
  std::vector<TimedTrial> trials;

  /// The fastest that was right, or null.
  const TimedTrial* best() const;
};

/// The trials of a GPU in a database, by precision, layout and extents. Of a problem with measured trials only these.
std::vector<TimedProblem> timed_problems(Store& store, const DeviceKey& device);

/// Spearman's rank correlation of two lists of the same length: 1 where they have the same order, -1 where they have
/// opposite ones; equal values share the mean of their ranks. NaN where a list has fewer than two different values.
double rank_correlation(std::span<const double> x, std::span<const double> y);

}  // namespace mmtune
