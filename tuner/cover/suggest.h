// The sizes that are worth tuning next.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/choose/dispatch.h"
#include "tuner/cover/size_sample.h"

namespace mmtune {

struct Suggestion {
  Problem problem;
  Match match = Match::fallback;  ///< how it is served now
  double expected_us = 0;         ///< the time of the kernel that serves it now
  double loss = 0;                ///< the expected loss beside tuning it: 0.1 is a tenth more time
  double gain = 0;  ///< the share of the loss of all sizes that tuning it takes away: that of near ones, too
};

/// At most `most` sizes, the best first; each is chosen as if those before it were tuned. What a size is expected to
/// lose is what decided sizes around lose that are held out, the more the farther away all of them are; sizes that the
/// fallback serves lose as much as the most that counts.
std::vector<Suggestion> suggest(const DeviceSpec& device, const StoredKernels& kernels,
                                const std::vector<AskedProblem>& sizes, std::size_t most);

}  // namespace mmtune
