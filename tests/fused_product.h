// A product with an epilogue for tests of kernels: operands of whole numbers, and what must become of C.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "templates/fusion.h"
#include "tests/operands.h"

namespace mmtune::test {

class FusedProduct {
 public:
  FusedProduct(Precision precision, Layout layout, std::int64_t m, std::int64_t n, std::int64_t k, Scalars scalars,
               Gaps gaps, const Fusion& fusion)
      : a(traits(precision).a, stored_a(bare(precision, layout, m, n, k)), gaps, Values::whole, 1),
        b(traits(precision).b, stored_b(bare(precision, layout, m, n, k)), gaps, Values::whole, 2),
        c(traits(precision).c, {m, n}, gaps, scalars.beta == 0 ? Values::nan : Values::whole, 3),
        bias(traits(precision).c, {1, fusion.bias == Bias::per_row ? m : n}, {}, Values::whole, 4),
        problem(bare(precision, layout, m, n, k)),
        scalars_(scalars),
        fusion_(fusion) {
    problem.align =
        alignment_of(problem, {a.ld(), b.ld(), c.ld()}, {a.offset_bytes(), b.offset_bytes(), c.offset_bytes()});
  }

  /// The first thing that is wrong with C in an image of what a kernel has left, or nothing.
  std::string complaint(const std::vector<char>& image) const {
    const Sums sums = multiply(problem, a, b);
    const FormatTraits& format = traits(problem.precision).c;
    for (std::int64_t row = 0; row < problem.m; ++row) {
      for (std::int64_t column = 0; column < problem.n; ++column) {
        const double before = before_activation(sums, row, column);
        const double expected = activated(before);
        const double actual = decode(format.format, c.bits(image, row, column));
        if (agree(format, before, expected, actual)) continue;
        return fmt::format("C[{},{}] is {}, should be {}", row, column, actual, expected);
      }
    }
    return c.gaps_intact(image) ? "" : "elements outside of C were written";
  }

  /// alpha, and from byte kBetaOffset on beta, for programs that load them.
  std::vector<char> scalars_image() const {
    std::vector<char> image(2 * kBetaOffset);
    const FormatTraits& format = traits(problem.precision).scalar;
    for (const auto& [offset, value] : {std::pair{std::size_t{0}, scalars_.alpha}, {kBetaOffset, scalars_.beta}}) {
      const std::uint64_t bits = encode(format.format, value);
      std::memcpy(image.data() + offset, &bits, static_cast<std::size_t>(format.bytes));
    }
    return image;
  }
  static constexpr std::size_t kBetaOffset = 8;

  HostMatrix a, b, c, bias;
  Problem problem;

 private:
  static Problem bare(Precision precision, Layout layout, std::int64_t m, std::int64_t n, std::int64_t k) {
    return {precision, layout, m, n, k, {}};
  }

  /// Whole numbers are exact, and so is all but gelu of them.
  bool agree(const FormatTraits& format, double before, double expected, double actual) const {
    if (fusion_.activation != Activation::gelu) return actual == rounded(format, expected);
    const double roundoff = std::max(format.roundoff, traits(problem.precision).accumulator.roundoff * 4);
    return std::abs(actual - expected) <= roundoff * std::abs(expected) + roundoff * std::abs(before) / 16;
  }

  double before_activation(const Sums& sums, std::int64_t row, std::int64_t column) const {
    double value = problem.k == 0 ? 0 : scalars_.alpha * sum(sums, row, column);
    if (scalars_.beta != 0) value += scalars_.beta * c.at(row, column);
    if (fusion_.bias != Bias::none) value += bias.at(0, fusion_.bias == Bias::per_row ? row : column);
    return value;
  }

  double sum(const Sums& sums, std::int64_t row, std::int64_t column) const {
    const double value = sums.value[static_cast<std::size_t>(row * problem.n + column)];
    if (!traits(problem.precision).accumulator.integer) return value;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  }

  double activated(double x) const {
    if (fusion_.activation == Activation::relu) return std::max(x, 0.0);
    return fusion_.activation == Activation::gelu ? x * std::erfc(-x * std::sqrt(0.5)) / 2 : x;
  }

  Scalars scalars_;
  Fusion fusion_;
};

/// All epilogues but the empty one.
inline std::vector<Fusion> all_fusions() {
  std::vector<Fusion> all;
  for (const Activation activation : kAllActivations) {
    for (const Bias bias : kAllBiases) {
      if (!Fusion{activation, bias}.is_empty()) all.push_back({activation, bias});
    }
  }
  return all;
}

}  // namespace mmtune::test
