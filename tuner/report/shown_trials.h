// Which of many trials a report shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "db/trial.h"

namespace mmtune {

/// A trial, its place among those of its GPU and problem, and whether it was the best so far.
struct ShownTrial {
  const Trial* trial;
  std::int64_t order;
  bool improves;
};

/// About `most` of the trials, in their order: the fastest of each problem, those that were the best so far, and some
/// of the others, evenly. No problem is left out. The result points to `trials`.
std::vector<ShownTrial> shown_trials(const std::vector<Trial>& trials, std::size_t most);

}  // namespace mmtune
