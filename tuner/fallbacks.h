// The kernels that an application falls back on for sizes that nothing tuned can run.
#pragma once

#include <vector>

#include "db/store.h"
#include "tuner/candidate.h"

namespace mmtune {

/// Compiles and stores the default of the family `naive` for every precision and layout among the problems, unless it
/// is there: one program each, good for all sizes and alignments.
void store_fallbacks(const std::vector<Problem>& problems, const Preparation& preparation, const Nvrtc& nvrtc,
                     Store& store);

}  // namespace mmtune
