// What programs are expected to take for sizes where they were not measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/choose/measured_times.h"
#include "tuner/cover/measured_kernels.h"

namespace mmtune {

/// A kernel's program, launched as suits a size.
struct ExpectedTime {
  double time_us = 0;
  double cautious_us = 0;  ///< the time that counts, which is longer, the less is known around the size
  std::size_t kernel = 0;
  Candidate candidate;
};

/// Times as a library expects them: the model's, corrected by what was measured. Must not outlive the kernels.
class ExpectedTimes {
 public:
  /// Learns from the first `sizes` sizes.
  explicit ExpectedTimes(const MeasuredKernels& measured, std::size_t sizes = -1UL);

  /// The expected times of those kernels that can run a size, the fastest first: of each with the clusters that are
  /// expected, with caution, to be the fastest.
  std::vector<ExpectedTime> at(std::size_t size, const std::vector<std::size_t>& kernels) const;

 private:
  ExpectedTime expected(Candidate candidate, const Problem& problem, std::size_t kernel, double factor,
                        double caution) const;

  /// Its errors are learnt as its launch's, as a library does.
  std::uint32_t launch_of(std::size_t kernel) const;

  const MeasuredKernels& measured_;
  MeasuredTimes learnt_;
};

}  // namespace mmtune
