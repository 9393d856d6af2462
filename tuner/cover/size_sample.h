// The distribution of products that an application may ask for, and samples of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "templates/problem/problem.h"
#include "tuner/text/calls.h"

namespace mmtune {

/// Sizes between two limits, or those of a list with how much each matters.
class SizeDistribution {
 public:
  /// The notation, for the help of an option.
  static constexpr const char* kNotation =
      "48..8192 for all extents, 48..8192x16..64x4096 for m, n and k, or @FILE: calls with weights";

  struct Range {
    std::int64_t least = 1;
    std::int64_t most = 1;
  };

  /// "48..8192": extents between these, each as likely to be in one octave as in another; "48..8192x16..64x4096" for
  /// m, n and k apart. "@file": what tuner/text/calls.h reads. Throws UsageError naming what is wrong.
  static SizeDistribution parse(std::string_view text);

  /// At most `count` products, none twice, that cover the distribution evenly: of a list the heaviest. The first of
  /// many are the same as fewer. Half of them, as evenly spread, have extents that are multiples of 8, as far as the
  /// ranges have such.
  std::vector<WeightedSize> spread(std::size_t count, std::uint64_t seed) const;

  /// Products drawn as an application may ask for them, half of them with extents that are multiples of 8. All weigh 1.
  std::vector<WeightedSize> draw(std::size_t count, std::uint64_t seed) const;

 private:
  Size at(const std::array<double, 3>& place, bool multiples) const;

  std::array<Range, 3> ranges_{};   ///< the ranges of m, n and k, if there is no list
  std::vector<WeightedSize> list_;  ///< the sizes of a list, the heaviest first
};

/// A problem that an application may ask for.
struct AskedProblem {
  Problem problem;
  double weight = 1;
};

/// The problems of packed operands. A product that names no precision or layout becomes one for each of these.
std::vector<AskedProblem> asked_problems(const std::vector<WeightedSize>& calls,
                                         const std::vector<Precision>& precisions, const std::vector<Layout>& layouts);

/// The same without their weights.
std::vector<Problem> problems_of(const std::vector<AskedProblem>& asked);

}  // namespace mmtune
