#include "tuner/race/ratio.h"

#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mmtune {

double median_of_sorted(std::span<const double> values) {
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::size_t interval_rank(std::size_t n, double tail) {
  double probability = std::exp2(-static_cast<double>(n));  // the probability of exactly j heads in n throws
  double below = probability;                               // the probability of at most j heads
  std::size_t j = 0;
  while (below <= tail) {
    ++j;
    probability *= static_cast<double>(n - j + 1) / static_cast<double>(j);
    below += probability;
  }
  return j;
}

Ratio ratio_of(std::span<const double> theirs, std::span<const double> ours, double tail) {
  if (theirs.empty() || theirs.size() != ours.size()) throw Error("ratio_of: lists differ, a fault of mmtune");
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(theirs[i] / ours[i]);
  std::sort(ratios.begin(), ratios.end());
  const std::size_t n = ratios.size();
  const std::size_t j = std::max<std::size_t>(1, interval_rank(n, tail));
  return {median_of_sorted(ratios), ratios[j - 1], ratios[n - j]};
}

}  // namespace mmtune
