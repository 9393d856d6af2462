// Calls on a GPU with the results that they must have, by a plain loop over small integers, which every precision adds
// without rounding.
#pragma once

#include <gtest/gtest.h>
#include <mmtune/mmtune.h>

#include <cstring>

#include "templates/problem/dtype.h"
#include "tests/operands.h"
#include "tests/upload.h"

namespace mmtune::test {

/// A stored matrix in device memory with room between its rows and before the first, all filled.
class Matrix {
 public:
  Matrix(const FormatTraits& format, StoredShape shape, int padding, int offset, bool poison)
      : format_(format), ld_(shape.columns + padding), offset_(offset) {
    values_.resize(static_cast<std::size_t>(offset + std::max<std::int64_t>(1, shape.rows) * ld_) + 1);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = poison ? test::kNan : static_cast<double>(static_cast<int>(i * 7 % 11 % 3) - 1);
    }
    buffer_ = DeviceBuffer(values_.size() * bytes());
    const auto image = encoded();
    upload(buffer_.address(), image.data(), image.size());
  }

  std::int64_t ld() const { return ld_; }
  void* address() const { return reinterpret_cast<void*>(buffer_.address() + offset_ * bytes()); }
  double& at(std::int64_t row, std::int64_t column) { return values_[offset_ + row * ld_ + column]; }

  /// Element of op(): transposed or not.
  double op(bool transposed, std::int64_t row, std::int64_t column) {
    return transposed ? at(column, row) : at(row, column);
  }

  /// Whether the device holds exactly the values of the host; zeros have no sign.
  bool agrees() const {
    std::vector<char> now(buffer_.bytes());
    MMTUNE_CUDA(cuMemcpyDtoH(now.data(), buffer_.address(), now.size()));
    const std::uint64_t negative_zero = std::uint64_t{1} << (8 * bytes() - 1);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, now.data() + i * bytes(), bytes());
      const std::uint64_t expected = test::encode(format_.format, values_[i]);
      if (bits != expected && (bits | expected) != negative_zero) return false;
    }
    return true;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(format_.bytes); }

  std::vector<char> encoded() const {
    std::vector<char> image(values_.size() * bytes());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::uint64_t bits = test::encode(format_.format, values_[i]);
      std::memcpy(image.data() + i * bytes(), &bits, bytes());
    }
    return image;
  }

  FormatTraits format_;
  std::int64_t ld_;
  std::size_t offset_;
  std::vector<double> values_;
  DeviceBuffer buffer_;
};

struct ProductOptions {
  double alpha = 1;
  double beta = 1;
  int padding = 0;  ///< the padding of the rows, in elements
  int offset = 0;   ///< the offset of the addresses, in elements
};

/// Operands on the device, the call over them and the result that it must have.
class Product {
 public:
  Product(const Problem& problem, ProductOptions options)
      : problem_(problem),
        options_(options),
        a_(traits(problem.precision).a, stored_a(problem), options.padding, options.offset, false),
        b_(traits(problem.precision).b, stored_b(problem), options.padding, options.offset, false),
        c_(traits(problem.precision).c, stored_c(problem), options.padding, options.offset, options.beta == 0) {}

  Gemm call() const {
    return {.precision = problem_.precision,
            .layout = problem_.layout,
            .m = problem_.m,
            .n = problem_.n,
            .k = problem_.k,
            .alpha = options_.alpha,
            .a = a_.address(),
            .lda = a_.ld(),
            .b = b_.address(),
            .ldb = b_.ld(),
            .beta = options_.beta,
            .c = c_.address(),
            .ldc = c_.ld()};
  }

  /// Call once, when the GPU has finished. Covers what lies around C too.
  testing::AssertionResult is_right() {
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      for (std::int64_t column = 0; column < problem_.n; ++column) {
        double sum = 0;
        for (std::int64_t l = 0; l < problem_.k; ++l) {
          sum += a_.op(transposes_a(problem_.layout), row, l) * b_.op(transposes_b(problem_.layout), l, column);
        }
        double& c = c_.at(row, column);
        c = options_.alpha * sum + (options_.beta == 0 ? 0 : options_.beta * c);
      }
    }
    if (c_.agrees()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "wrong result for " << to_string(problem_);
  }

 private:
  Problem problem_;
  ProductOptions options_;
  Matrix a_, b_, c_;
};

}  // namespace mmtune::test
