// Which kernel a cover decides for at each size, and what sizes lose by that.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "db/store.h"
#include "tuner/cover/cover_options.h"
#include "tuner/cover/measured_kernels.h"

namespace mmtune {

struct Losses {
  std::size_t sizes = 0;
  double weights = 0;  ///< the sum of the weights of these sizes
  double mean = 0;     ///< the weighted mean
  double worst = 0;
};

/// A kernel in one of the ways to launch it.
struct CoveringKernel {
  std::string family;
  std::string config;
  Precision precision;
  Layout layout;
  Alignment align;
  std::size_t sizes = 0;  ///< the number of sizes of the sample that it serves
};

struct CoverDecisions {
  std::vector<CoveringKernel> kernels;  ///< those that serve at least one size, in order of their names
  Losses losses;                        ///< what the sizes of the sample lose beside the fastest of all candidates
};

/// Stores the fastest kernel of the programs as the decision of each size; the `searched` ones need no search any more.
CoverDecisions decide(const CoverOptions& options, const MeasuredKernels& measured,
                      const std::set<std::size_t>& programs, const std::vector<Problem>& searched, Store& store);

/// What the sizes of the sample lose by the decisions as the library reads them, each left out in turn, beside the
/// fastest of all candidates.
Losses lost_held_out(const CoverOptions& options, const MeasuredKernels& measured, const DeviceSpec& device,
                     Store& store);

}  // namespace mmtune
