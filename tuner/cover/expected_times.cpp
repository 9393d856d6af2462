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
      times.push_back({launch_of(kernel), problem, time.us, model_us});
    }
  }
  learnt_ = MeasuredTimes(times);
}

std::vector<ExpectedTime> ExpectedTimes::at(std::size_t size, const std::vector<std::size_t>& kernels) const {
  const Problem& problem = measured_.problems()[size];
  const MeasuredTimes::Around around = learnt_.around(problem);
  const auto unknown = static_cast<std::uint32_t>(measured_.kernels().size());  // No launch has this number.
  std::vector<ExpectedTime> times;
  for (const std::size_t kernel : kernels) {
    if (!measured_.suits(kernel, problem)) continue;
    const double factor = around.factor(launch_of(kernel));
    ExpectedTime best =
        expected(measured_.fitted(kernel, problem), problem, kernel, factor, around.caution(launch_of(kernel)));
    for (Candidate& other : measured_.fitted_to_other_clusters(kernel, problem)) {
      ExpectedTime each = expected(std::move(other), problem, kernel, factor, around.caution(unknown));
      if (each.cautious_us < best.cautious_us) best = std::move(each);
    }
    if (std::isfinite(best.time_us)) times.push_back(std::move(best));
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const ExpectedTime& x, const ExpectedTime& y) { return x.time_us < y.time_us; });
  return times;
}

ExpectedTime ExpectedTimes::expected(Candidate candidate, const Problem& problem, std::size_t kernel, double factor,
                                     double caution) const {
  const double time_us = measured_.model_us(candidate, problem) * factor;
  return {time_us, time_us * caution, kernel, std::move(candidate)};
}

std::uint32_t ExpectedTimes::launch_of(std::size_t kernel) const {
  return static_cast<std::uint32_t>(measured_.kernels()[kernel].launch);
}

}  // namespace mmtune
