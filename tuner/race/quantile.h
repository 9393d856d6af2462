// Statistics of samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace mmtune {

/// The value below which a share of the ascending samples lies, interpolated. There must be one.
inline double quantile(const std::vector<double>& ascending, double share) {
  const double position = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (position - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

/// The mean of samples. There must be one.
inline double mean(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

}  // namespace mmtune
