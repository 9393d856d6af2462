#include "tuner/documents/whole_numbers.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

namespace mmtune {
namespace {

/// Calls `visit` with a number of the format's type.
template <class Visit>
void with_type_of(const FormatTraits& format, const Visit& visit) {
  switch (format.format) {
    case NumberFormat::f64:
      return visit(double{});
    case NumberFormat::f32:
      return visit(float{});
    default:
      return visit(std::int32_t{});
  }
}

template <class T>
std::vector<T> numbers_of(const std::vector<std::byte>& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

/// Row-major matrix times vector. False if an element is no whole number.
template <class T>
bool multiply(const std::vector<T>& matrix, const std::vector<std::int64_t>& vector,
              std::vector<std::int64_t>& result) {
  const std::size_t columns = vector.size();
  result.assign(matrix.size() / columns, 0);
  bool is_whole = true;
  for (std::size_t row = 0; row < result.size(); ++row) {
    for (std::size_t i = 0; i < columns; ++i) {
      const T value = matrix[row * columns + i];
      // No right element comes near this; as an integer it must be representable.
      const bool in_range = std::abs(static_cast<double>(value)) < 1e7;
      is_whole = is_whole && in_range && static_cast<T>(static_cast<std::int64_t>(value)) == value;
      if (is_whole) result[row] += static_cast<std::int64_t>(value) * vector[i];
    }
  }
  return is_whole;
}

template <class T>
void multiply_simple(const T* a, const T* b, T* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      c[i * n + j] = sum;
    }
  }
}

template <class T>
void multiply_blocked(const T* a, const T* b, T* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kBlock = 32;
  for (std::int64_t i0 = 0; i0 < m; i0 += kBlock) {
    for (std::int64_t j0 = 0; j0 < n; j0 += kBlock) {
      for (std::int64_t l0 = 0; l0 < k; l0 += kBlock) {
        const std::int64_t i1 = std::min(m, i0 + kBlock), j1 = std::min(n, j0 + kBlock), l1 = std::min(k, l0 + kBlock);
        for (std::int64_t i = i0; i < i1; ++i) {
          for (std::int64_t j = j0; j < j1; ++j) {
            T sum = 0;
            for (std::int64_t l = l0; l < l1; ++l) sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] += sum;
          }
        }
      }
    }
  }
}

}  // namespace

std::vector<std::byte> whole_numbers(const FormatTraits& format, std::int64_t rows, std::int64_t columns,
                                     std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(rows * columns);
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(format.bytes));
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed + 1));
  with_type_of(format, [&](auto zero) {
    using Number = decltype(zero);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<Number>(static_cast<int>(random() >> 8) % 7 - 3);
      std::memcpy(bytes.data() + i * sizeof(Number), &value, sizeof(Number));
    }
  });
  return bytes;
}

bool is_product(const Problem& problem, const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                const std::vector<std::byte>& c) {
  const PrecisionTraits& types = traits(problem.precision);
  std::mt19937 random(1);
  std::vector<std::int64_t> x(static_cast<std::size_t>(problem.n)), bx, abx, cx;
  for (auto& value : x) value = random() >> 12;
  bool is_whole = true;
  with_type_of(types.b, [&](auto t) { is_whole = multiply(numbers_of<decltype(t)>(b), x, bx) && is_whole; });
  with_type_of(types.a, [&](auto t) { is_whole = multiply(numbers_of<decltype(t)>(a), bx, abx) && is_whole; });
  with_type_of(types.c, [&](auto t) { is_whole = multiply(numbers_of<decltype(t)>(c), x, cx) && is_whole; });
  return is_whole && abx == cx;
}

double host_seconds(HostLoop loop, const Problem& problem) {
  const PrecisionTraits& types = traits(problem.precision);
  const auto a = whole_numbers(types.a, problem.m, problem.k, 1), b = whole_numbers(types.b, problem.k, problem.n, 2);
  std::vector<std::byte> c(static_cast<std::size_t>(problem.m * problem.n * types.c.bytes));
  double seconds = 0;
  with_type_of(types.c, [&](auto zero) {
    using Number = decltype(zero);
    const auto typed_a = numbers_of<Number>(a), typed_b = numbers_of<Number>(b);
    std::vector<Number> typed_c(static_cast<std::size_t>(problem.m * problem.n));
    const auto start = std::chrono::steady_clock::now();
    const auto multiply = loop == HostLoop::simple ? multiply_simple<Number> : multiply_blocked<Number>;
    multiply(typed_a.data(), typed_b.data(), typed_c.data(), problem.m, problem.n, problem.k);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::memcpy(c.data(), typed_c.data(), c.size());
  });
  if (!is_product(problem, a, b, c)) throw Error(fmt::format("{}: the loop on the host is wrong", to_string(problem)));
  return seconds;
}

}  // namespace mmtune
