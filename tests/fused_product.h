// A product with an epilogue for tests of kernels: operands of whole numbers, and what must become of C.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "templates/problem/fusion.h"
#include "tests/operands.h"

namespace mmtune::test {

class FusedProduct {
 public:
  /// Products of other numbers have other matrices, and the same bias.
  FusedProduct(Precision precision, Layout layout, std::int64_t m, std::int64_t n, std::int64_t k, Scalars scalars,
               Gaps gaps, const Fusion& fusion, std::uint64_t number = 0)
      : a(traits(precision).a, stored_a(bare(precision, layout, m, n, k)), gaps, Values::whole, 1 + 10 * number),
        b(traits(precision).b, stored_b(bare(precision, layout, m, n, k)), gaps, Values::whole, 2 + 10 * number),
        c(traits(precision).c, {m, n}, gaps, scalars.beta == 0 ? Values::nan : Values::whole, 3 + 10 * number),
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

/// Products of one shape at equal distances, with `fusion`; all share the bias, and those named share A or B.
class FusedBatch {
 public:
  static constexpr std::size_t kProducts = 3;
  enum class Shares { nothing, a, b };

  FusedBatch(Precision precision, Layout layout, std::int64_t m, std::int64_t n, std::int64_t k, Scalars scalars,
             Gaps gaps, const Fusion& fusion, Shares shares) {
    for (std::size_t i = 0; i < kProducts; ++i) {
      products.emplace_back(precision, layout, m, n, k, scalars, gaps, fusion, i);
      if (shares == Shares::a) products.back().a = products.front().a;
      if (shares == Shares::b) products.back().b = products.front().b;
    }
    const FusedProduct& first = products.front();
    // What spoils the alignment of the addresses spoils that of the distances.
    const auto apart = [&](const HostMatrix& matrix) {
      const std::size_t bytes = (matrix.image().size() + 255) / 256 * 256;
      return bytes + static_cast<std::size_t>(gaps.offset) * matrix.element_bytes();
    };
    step_bytes = {shares == Shares::a ? 0 : apart(first.a), shares == Shares::b ? 0 : apart(first.b), apart(first.c)};
    problem = first.problem;
    problem.align = alignment_of(problem, {first.a.ld(), first.b.ld(), first.c.ld()},
                                 {first.a.offset_bytes() | step_bytes.a, first.b.offset_bytes() | step_bytes.b,
                                  first.c.offset_bytes() | step_bytes.c});
  }

  /// The images of all products' A, B or C, one behind the other.
  std::vector<char> image(HostMatrix FusedProduct::*matrix, std::uintptr_t step) const {
    std::vector<char> all;
    for (std::size_t i = 0; i < kProducts; ++i) {
      const std::vector<char> own = (products[i].*matrix).image();
      all.resize(std::max(all.size(), i * step + own.size()));
      std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(i * step));
    }
    return all;
  }

  /// The first thing that is wrong in what has become of image(&FusedProduct::c), or nothing.
  std::string complaint(const std::vector<char>& image) const {
    for (std::size_t i = 0; i < kProducts; ++i) {
      const auto begin = image.begin() + static_cast<std::ptrdiff_t>(i * step_bytes.c);
      const auto bytes = static_cast<std::ptrdiff_t>(products[i].c.image().size());
      const std::string wrong = products[i].complaint({begin, begin + bytes});
      if (!wrong.empty()) return fmt::format("product {}: {}", i, wrong);
    }
    return "";
  }

  std::vector<FusedProduct> products;
  Addresses step_bytes;
  Problem problem;
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
