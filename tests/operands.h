// Operands for tests of kernels: their values as doubles and in their own format, with gaps between and around the rows
// that must neither be read nor written; the product that a plain loop over the doubles gives; and a judge of results.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "templates/problem/dtype.h"
#include "templates/problem/error_bound.h"
#include "templates/problem/problem.h"

namespace mmtune::test {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Bits of a number as the format writes it: 24 for fp32.
inline int significant_bits(const FormatTraits& format) { return -std::ilogb(format.roundoff); }

/// The nearest value of the format, ties to even; for normal numbers, and integers as they are.
inline double rounded(const FormatTraits& format, double value) {
  if (format.integer || value == 0 || !std::isfinite(value)) return value;
  const double unit = std::ldexp(1.0, std::ilogb(value) + 1 - significant_bits(format));
  return std::nearbyint(value / unit) * unit;
}

/// The bits of a value that the format has, of an infinity or a NaN; an integer stands in for those by an odd pattern.
inline std::uint64_t encode(NumberFormat format, double value) {
  const auto fp32 = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  switch (format) {
    case NumberFormat::f32:
      return fp32;
    case NumberFormat::f64:
      return std::bit_cast<std::uint64_t>(value);
    case NumberFormat::i32:
    case NumberFormat::u32:
      return std::isfinite(value) ? static_cast<std::uint32_t>(static_cast<std::int64_t>(value)) : 0x7fedcba9;
    case NumberFormat::i8:
      return std::isfinite(value) ? static_cast<std::uint8_t>(static_cast<std::int64_t>(value)) : 0xa9;
    case NumberFormat::bf16:
      return fp32 >> 16;
    case NumberFormat::e4m3:
      if (!std::isfinite(value)) return 0x7f;
      return value == 0 ? 0 : (fp32 >> 24 & 0x80) | ((fp32 >> 20 & 0x7ff) - ((127 - 7) << 3));
    case NumberFormat::e5m2:
      return encode(NumberFormat::f16, value) >> 8;
    case NumberFormat::f16:
      break;
  }
  const std::uint64_t sign = fp32 >> 16 & 0x8000;
  if (std::isnan(value)) return 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  return value == 0 ? sign : sign | ((fp32 >> 13 & 0x3ffff) - ((127 - 15) << 10));
}

inline double decode(NumberFormat format, std::uint64_t bits) {
  switch (format) {
    case NumberFormat::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case NumberFormat::f64:
      return std::bit_cast<double>(bits);
    case NumberFormat::i32:
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
    case NumberFormat::u32:
      return static_cast<std::uint32_t>(bits);
    case NumberFormat::i8:
      return static_cast<std::int8_t>(static_cast<std::uint8_t>(bits));
    case NumberFormat::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    case NumberFormat::e4m3: {
      const double magnitude = (bits & 0x7f) == 0x7f ? kNan : decode(NumberFormat::f16, (bits & 0x7f) << 7) * 256;
      return (bits & 0x80) != 0 ? -magnitude : magnitude;
    }
    case NumberFormat::e5m2:
      return decode(NumberFormat::f16, bits << 8);
    case NumberFormat::f16:
      break;
  }
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const auto fraction = static_cast<double>(bits & 0x3ff);
  if (exponent == 31) return fraction != 0 ? kNan : sign * kInfinity;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

enum class Values {
  whole,   ///< -3 to 3: sums are exact in every format
  random,  ///< all bits that the format has, between -1 and 1; all integers of the format
  wide,    ///< the same, times powers of two that spread so far that sums of fp32 are rounded
  nan,
};

inline double draw(const FormatTraits& format, Values values, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  if (values == Values::nan) return kNan;
  if (values == Values::whole) return static_cast<double>(bits % 7) - 3;
  if (format.integer) return decode(format.format, bits);
  const int digits = significant_bits(format);
  constexpr int kOctaves = 8;
  const int octave = values == Values::wide ? static_cast<int>(bits >> 8 & (kOctaves - 1)) : 0;
  return std::ldexp(static_cast<double>(bits >> (64 - digits)), octave - digits) * ((bits & 1) != 0 ? 1 : -1);
}

/// Elements, so that the alignment of addresses and of rows can be spoilt.
struct Gaps {
  int padding = 0;  ///< the elements between the rows
  int offset = 0;   ///< the elements before the first
};

/// A stored matrix. An image of it is what memory holds, gaps included.
class HostMatrix {
 public:
  HostMatrix(const FormatTraits& format, StoredShape shape, Gaps gaps, Values values, std::uint64_t seed)
      : format_(format),
        shape_(shape),
        ld_(ld_of(shape, gaps)),
        first_(kGuard + gaps.offset),
        values_(static_cast<std::size_t>(first_ + std::max<std::int64_t>(1, shape.rows) * ld_ + kGuard), kNan) {
    std::mt19937_64 random(seed);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      for (std::int64_t column = 0; column < shape.columns; ++column) {
        at(row, column) = draw(format, values, random);
      }
    }
  }

  static std::int64_t ld_of(const StoredShape& shape, Gaps gaps) {
    return std::max<std::int64_t>(1, shape.columns + gaps.padding);
  }

  const StoredShape& shape() const { return shape_; }
  std::int64_t ld() const { return ld_; }
  std::size_t element_bytes() const { return static_cast<std::size_t>(format_.bytes); }
  double& at(std::int64_t row, std::int64_t column) { return values_[index(row, column)]; }
  double at(std::int64_t row, std::int64_t column) const { return values_[index(row, column)]; }

  /// An infinity or a NaN, or what the format has in its place.
  void spoil(std::int64_t row, std::int64_t column, double value) {
    at(row, column) = decode(format_.format, encode(format_.format, value));
  }

  /// The place of the first element in an allocation at a multiple of 256 bytes.
  std::uintptr_t offset_bytes() const { return static_cast<std::size_t>(first_) * element_bytes(); }

  /// The place of an image's rows, with what the first element's offset needs before them: the first byte and the one
  /// after the last.
  std::pair<std::size_t, std::size_t> used_bytes() const {
    const bool empty = shape_.rows == 0 || shape_.columns == 0;
    const std::size_t last = empty ? static_cast<std::size_t>(first_) : index(shape_.rows - 1, shape_.columns);
    return {kGuard * element_bytes(), last * element_bytes()};
  }

  std::vector<char> image() const {
    std::vector<char> image(values_.size() * element_bytes());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::uint64_t bits = encode(format_.format, values_[i]);
      std::memcpy(image.data() + i * element_bytes(), &bits, element_bytes());
    }
    return image;
  }

  /// The bits of an element in an image; of a gap's for indices outside of the rows.
  std::uint64_t bits(const std::vector<char>& image, std::int64_t row, std::int64_t column) const {
    return bits_at(image, index(row, column));
  }

  /// Whether the gaps hold what image() puts there.
  bool gaps_intact(const std::vector<char>& image) const {
    const std::uint64_t expected = encode(format_.format, kNan);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::int64_t from_first = static_cast<std::int64_t>(i) - first_;
      const bool inside = from_first >= 0 && from_first / ld_ < shape_.rows && from_first % ld_ < shape_.columns;
      if (!inside && bits_at(image, i) != expected) return false;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kGuard = 1024;  // elements before and after; a multiple of 256 bytes

  std::size_t index(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(first_ + row * ld_ + column);
  }
  std::uint64_t bits_at(const std::vector<char>& image, std::size_t i) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, image.data() + i * element_bytes(), element_bytes());
    return bits;
  }

  FormatTraits format_;
  StoredShape shape_;
  std::int64_t ld_;
  std::int64_t first_;
  std::vector<double> values_;
};

/// op(A) * op(B) by a plain loop: sums in double, or modulo 2^32, and those of |a * b|, m * n of each.
struct Sums {
  std::vector<double> value;
  std::vector<double> magnitude;
};

/// The value modulo 2^32; of a NaN, which nothing may read, zero.
inline std::uint32_t residue(double value) {
  return std::isnan(value) ? 0 : static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
}

inline Sums multiply(const Problem& problem, const HostMatrix& a, const HostMatrix& b) {
  const bool integer = traits(problem.precision).accumulator.integer;
  const bool transposed_a = transposes_a(problem.layout), transposed_b = transposes_b(problem.layout);
  const auto n = static_cast<std::size_t>(problem.n);
  std::vector<double> right;  // by rows of op(B): the sums of a row of C are added to in turn, which waits for none
  right.reserve(static_cast<std::size_t>(problem.k) * n);
  for (std::int64_t l = 0; l < problem.k; ++l) {
    for (std::int64_t column = 0; column < problem.n; ++column) {
      right.push_back(transposed_b ? b.at(column, l) : b.at(l, column));
    }
  }
  Sums sums;
  for (std::int64_t row = 0; row < problem.m; ++row) {
    std::vector<double> value(n), magnitude(n);
    std::vector<std::uint32_t> modular(n);
    for (std::int64_t l = 0; l < problem.k; ++l) {
      const double left = transposed_a ? a.at(l, row) : a.at(row, l);
      const double* const of_b = right.data() + static_cast<std::size_t>(l) * n;
      for (std::size_t column = 0; column < n; ++column) {
        if (integer) {
          modular[column] += residue(left) * residue(of_b[column]);
        } else {
          value[column] += left * of_b[column];
          magnitude[column] += std::abs(left * of_b[column]);
        }
      }
    }
    if (integer) value.assign(modular.begin(), modular.end());
    sums.value.insert(sums.value.end(), value.begin(), value.end());
    sums.magnitude.insert(sums.magnitude.end(), magnitude.begin(), magnitude.end());
  }
  return sums;
}

struct Scalars {
  double alpha = 1;
  double beta = 0;
};

/// Judges elements of C by what they should be and by the bound of templates/problem/error_bound.h, or bit for bit.
class Judge {
 public:
  Judge(const Problem& problem, Scalars scalars, bool exact)
      : types_(traits(problem.precision)), bound_(error_bound(problem)), scalars_(scalars), exact_(exact) {
    if (problem.k == 0) scalars_.alpha = 0;  // there is no product, however infinite alpha is
  }

  /// What is wrong with an element that has become `bits`, or nothing.
  std::string complaint(double sum, double magnitude, double before, std::uint64_t bits) const {
    const double expected = value(sum, before);
    const double actual = decode(types_.c.format, bits);
    if (agree(expected, actual, sum, magnitude, before)) return "";
    return fmt::format("is {}, should be {}", actual, expected);
  }

 private:
  double value(double sum, double before) const {
    const auto [alpha, beta] = scalars_;
    if (types_.accumulator.integer) {
      const std::uint32_t addend = beta == 0 ? 0 : residue(beta) * residue(before);
      return static_cast<std::int32_t>((alpha == 0 ? 0 : residue(alpha) * residue(sum)) + addend);
    }
    return (alpha == 0 ? 0 : alpha * sum) + (beta == 0 ? 0 : beta * before);
  }

  bool agree(double expected, double actual, double sum, double magnitude, double before) const {
    if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
    if (std::isinf(expected)) return actual == expected;
    if (exact_ || types_.c.integer) return actual == rounded(types_.c, expected);
    const auto [alpha, beta] = scalars_;
    const double addend = beta == 0 ? 0 : std::abs(beta * before);
    const double bound = bound_.sum * std::abs(alpha) * magnitude + bound_.result * std::abs(expected) +
                         bound_.scale * (std::abs(alpha * sum) + addend) + bound_.absolute;
    return std::abs(actual - expected) <= bound;
  }

  const PrecisionTraits& types_;
  ErrorBound bound_;
  Scalars scalars_;
  bool exact_;
};

/// The first thing that is wrong with C in an image of what a kernel has left, or nothing.
inline std::string complaint(const Judge& judge, const Sums& sums, const HostMatrix& c,
                             const std::vector<char>& image) {
  const auto [rows, columns] = c.shape();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto i = static_cast<std::size_t>(row * columns + column);
      const std::string wrong =
          judge.complaint(sums.value[i], sums.magnitude[i], c.at(row, column), c.bits(image, row, column));
      if (!wrong.empty()) return fmt::format("C[{},{}] {}", row, column, wrong);
    }
  }
  return c.gaps_intact(image) ? "" : "elements outside of C were written";
}

}  // namespace mmtune::test
