// The check of a study's products, and its loops on the host.
#include "tuner/documents/whole_numbers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace mmtune {
namespace {

struct Product {
  Problem problem;
  std::vector<std::byte> a, b, c;
};

/// C = A * B in plain loops, written apart from those that are tested.
template <class T>
Product product(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
  Product p{packed_problem(precision, Layout::nn, m, n, k), {}, {}, {}};
  p.a = whole_numbers(traits(precision).a, m, k, 1);
  p.b = whole_numbers(traits(precision).b, k, n, 2);
  p.c.resize(static_cast<std::size_t>(m * n) * sizeof(T));
  const auto at = [](std::vector<std::byte>& bytes, std::int64_t i) -> T& {
    return reinterpret_cast<T*>(bytes.data())[i];
  };
  for (std::int64_t i = 0; i < m * n; ++i) {
    T sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += at(p.a, i / n * k + l) * at(p.b, l * n + i % n);
    at(p.c, i) = sum;
  }
  return p;
}

bool is_right(const Product& p) { return is_product(p.problem, p.a, p.b, p.c); }

TEST(WholeNumbers, AProductOfRectanglesIsRight) {
  EXPECT_TRUE(is_right(product<float>(Precision::fp32, 7, 5, 11)));
  EXPECT_TRUE(is_right(product<double>(Precision::fp64, 5, 9, 3)));
  EXPECT_TRUE(is_right(product<std::int32_t>(Precision::int32, 13, 2, 6)));
}

TEST(WholeNumbers, OneWrongElementIsFound) {
  for (const std::int64_t place : {0, 17, 34}) {
    Product p = product<float>(Precision::fp32, 7, 5, 11);
    auto* c = reinterpret_cast<float*>(p.c.data());
    c[place] += 1;
    EXPECT_FALSE(is_right(p)) << place;
    c[place] -= 0.5F;
    EXPECT_FALSE(is_right(p)) << "half a number";
    c[place] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(is_right(p)) << "not written";
  }
}

TEST(WholeNumbers, TwoErrorsThatCancelInSumsAreFound) {
  Product p = product<std::int32_t>(Precision::int32, 4, 6, 5);
  auto* c = reinterpret_cast<std::int32_t*>(p.c.data());
  c[0] += 1;
  c[1] -= 1;
  EXPECT_FALSE(is_right(p));
}

TEST(WholeNumbers, AreSmallAndVaried) {
  const auto bytes = whole_numbers(traits(Precision::fp32).a, 50, 50, 3);
  int counts[7] = {};
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i, sizeof(float));
    ASSERT_GE(value, -3);
    ASSERT_LE(value, 3);
    ++counts[static_cast<int>(value) + 3];
  }
  for (const int count : counts) EXPECT_GT(count, 200);
}

TEST(WholeNumbers, LoopsOnTheHostAreRight) {
  for (const Precision precision : {Precision::fp32, Precision::fp64, Precision::int32}) {
    const Problem problem = packed_problem(precision, Layout::nn, 45, 70, 33);
    EXPECT_GT(host_seconds(HostLoop::simple, problem), 0);
    EXPECT_GT(host_seconds(HostLoop::blocked, problem), 0) << "throws where it is wrong";
  }
}

}  // namespace
}  // namespace mmtune
