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

/// A kernel for the spare size where it is expected to be of most use.
struct SpareKernel {
  std::size_t size = 0;
  Candidate candidate;
};

/// What came of kernels that were measured at spare sizes.
struct UsefulPrograms {
  std::size_t measured = 0;  ///< the number of these kernels
  std::size_t chosen = 0;    ///< the number of programs that are chosen for that alone
};

/// All kernels are those that were measured at the sizes of these options, in their order. Lists of candidates are by
/// size: those of the sample, then the further ones, then the spare ones.
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

  /// Kernels that decide no size and are expected to be the fastest at spare ones, the most useful first: one for a
  /// size, of no more programs than there is room for. `only_new`: none where spare sizes were measured before.
  std::vector<SpareKernel> for_spare(const MeasuredKernels& measured, bool only_new) const;

  /// Adds programs while there is room: those that came off at their spare size about as well as what is chosen is
  /// expected to, or better.
  UsefulPrograms add_useful(const MeasuredKernels& measured, std::set<std::size_t>& programs) const;

 private:
  std::size_t most_measured() const;
  std::size_t most_listed() const;
  std::size_t first_spare() const { return options_.sample.size() + options_.further.size(); }
  bool has_room(const std::set<std::size_t>& programs) const;
  std::vector<std::size_t> shortlist(const MeasuredKernels& measured, const TimeMatrix& times,
                                     const std::vector<std::size_t>& first = {}) const;
  TimeMatrix cautious_times(const MeasuredKernels& measured, const ExpectedTimes& expected,
                            const std::vector<std::size_t>& kernels, std::size_t first,
                            const std::vector<AskedProblem>& sizes) const;
  TimeMatrix expected_times(const MeasuredKernels& measured, const ExpectedTimes& expected) const;
  TimeMatrix measured_times(const MeasuredKernels& measured, bool with_further) const;
  std::vector<std::size_t> close_to_best(const MeasuredKernels& measured) const;

  const CoverOptions& options_;
};

}  // namespace mmtune
