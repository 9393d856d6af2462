// What a cover is asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/cover/size_sample.h"
#include "tuner/tune/session_options.h"

namespace mmtune {

struct CoverOptions {
  /// The options of the whole run, its budget among them. The problems are the sample's, or a share of them.
  SessionOptions session;
  std::vector<AskedProblem> sample;
  std::vector<AskedProblem> further;  ///< sizes at which kernels that may be chosen are measured, too
  std::vector<AskedProblem> spare;    ///< sizes of which few are measured, each for one kernel that may be of use there
  std::size_t most_kernels = 512;     ///< the most kernels; those of one program count once
  double loss = 0;  ///< the choice ends at this mean loss beside the fastest candidates; 0.01 is one percent more time
};

}  // namespace mmtune
