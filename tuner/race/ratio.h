// The ratio of two kernels' times from samples that were taken in pairs.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "templates/base/fields.h"
#include "templates/base/rules.h"

namespace mmtune {

/// A median with its confidence interval.
struct Ratio {
  double median = 0;
  double low = 0;
  double high = 0;

  static constexpr void fields(auto&& visit) {
    visit("median", &Ratio::median, rule::amount);
    visit("low", &Ratio::low, rule::amount);
    visit("high", &Ratio::high, rule::amount);
  }
  std::string_view contradiction() const {
    return low > 0 && low <= median && median <= high ? "" : "low, median, high: not in ascending order above 0";
  }
};
static_assert(kListsAllMembers<Ratio>);

/// The median of at least one value, in ascending order.
double median_of_sorted(std::span<const double> values);

/// The largest j with P(Binomial(n, 1/2) < j) <= tail; 0 if there is none. The median of a distribution lies below the
/// j-th of n ascending samples with at most this probability, whatever the distribution.
std::size_t interval_rank(std::size_t n, double tail);

/// The median of theirs[i] / ours[i], times of the same round: above 1, we are faster. The interval is that of order
/// statistics, which assumes nothing about the distribution: with n ratios in ascending order, from number j to number
/// n + 1 - j for j = interval_rank(n, tail), where each end is wrong with probability `tail`; by default 95 % in all.
/// Where so few ratios have no such j, it is from the first to the last. Both lists must have the same length, at
/// least 1.
Ratio ratio_of(std::span<const double> theirs, std::span<const double> ours, double tail = 0.025);

}  // namespace mmtune
