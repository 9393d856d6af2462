#include "tuner/cover/expected_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mmtune {

ExpectedTimes::ExpectedTimes(const MeasuredKernels& measured, std::size_t sizes) : measured_(measured) {
  std::vector<KernelTime> times;
  for (std::size_t size = 0; size < std::min(sizes, measured.problems().size()); ++size) {
    const Problem& problem = measured.problems()[size];
    for (const auto& [kernel, time] : measured.times(size)) {
      const double model_us = measured.model_us(measured.kernels()[kernel].candidate, problem);
      if (!std::isfinite(model_us) || !(model_us > 0)) continue;
      times.push_back({launch_of(kernel), problem, time.median_us, model_us});
    }
  }
  learnt_ = MeasuredTimes(times);
}

std::vector<ExpectedTime> ExpectedTimes::at(std::size_t size, const std::vector<std::size_t>& kernels) const {
  const Problem& problem = measured_.problems()[size];
  const MeasuredTimes::Around around = learnt_.around(problem);
  std::vector<ExpectedTime> expected;
  for (const std::size_t kernel : kernels) {
    if (!measured_.suits(kernel, problem)) continue;
    Candidate candidate = measured_.fitted(kernel, problem);
    const double time_us = measured_.model_us(candidate, problem) * around.factor(launch_of(kernel));
    if (!std::isfinite(time_us)) continue;
    expected.push_back({time_us, time_us * around.caution(launch_of(kernel)), kernel, std::move(candidate)});
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const ExpectedTime& x, const ExpectedTime& y) { return x.time_us < y.time_us; });
  return expected;
}

std::uint32_t ExpectedTimes::launch_of(std::size_t kernel) const {
  return static_cast<std::uint32_t>(measured_.kernels()[kernel].launch);
}

}  // namespace mmtune
