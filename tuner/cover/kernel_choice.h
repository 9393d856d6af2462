// Which kernels a cover measures at which sizes, and which programs it chooses.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "tuner/cover/cover_options.h"
#include "tuner/cover/expected_times.h"
#include "tuner/cover/measured_kernels.h"
#include "tuner/cover/portfolio.h"

namespace mmtune {

/// All kernels are those that were measured at the sizes of these options, in their order. Lists of candidates are by
/// size: those of the sample, then the further ones.
class KernelChoice {
 public:
  explicit KernelChoice(const CoverOptions& options) : options_(options) {}

  /// Kernels that did well at some size of the sample, for the others where they may do well too, the most promising
  /// first.
  CandidateLists for_sample(const MeasuredKernels& measured) const;

  /// Kernels that may be chosen, for each further size; `only_new`: where nothing was measured yet. A small sample
  /// needs few kernels, so that there is room for others that may do well at these sizes.
  CandidateLists for_further(const MeasuredKernels& measured, bool only_new) const;

  /// The chosen programs. They serve the further sizes too, so that sizes that were not measured are likely to be
  /// served.
  std::set<std::size_t> programs(const MeasuredKernels& measured) const;

 private:
  std::size_t most_listed() const;
  std::vector<std::size_t> shortlist(const MeasuredKernels& measured, const TimeMatrix& times,
                                     const std::vector<std::size_t>& first = {}) const;
  TimeMatrix cautious_times(const MeasuredKernels& measured, const ExpectedTimes& expected,
                            const std::vector<std::size_t>& first) const;
  TimeMatrix expected_times(const MeasuredKernels& measured, const ExpectedTimes& expected) const;
  TimeMatrix empty_matrix(const MeasuredKernels& measured, bool with_further = false) const;
  TimeMatrix measured_times(const MeasuredKernels& measured, bool with_further) const;
  std::vector<std::size_t> close_to_best(const MeasuredKernels& measured) const;

  const CoverOptions& options_;
};

}  // namespace mmtune
