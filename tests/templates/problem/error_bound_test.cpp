#include "templates/problem/error_bound.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mmtune {
namespace {

constexpr double kU16 = 0x1p-11, kU32 = 0x1p-24, kU64 = 0x1p-53;

ErrorBound bound_of(Precision precision, std::int64_t k) { return error_bound(traits(precision), k); }

/// The row of fp16 with another arithmetic.
double sum_bound(const Arithmetic& arithmetic, std::int64_t k) {
  PrecisionTraits types = traits(Precision::fp16);
  types.arithmetic = arithmetic;
  return error_bound(types, k).sum;
}

TEST(ErrorBound, GrowsWithTheRootOfTheAdditions) {
  EXPECT_EQ(bound_of(Precision::fp32, 1).sum, 8 * kU32);
  EXPECT_EQ(bound_of(Precision::fp32, 64).sum, 64 * kU32);
  EXPECT_EQ(bound_of(Precision::fp32, 4096).sum, 512 * kU32);
  EXPECT_EQ(bound_of(Precision::fp32, 0).sum, 8 * kU32) << "as one step";
}

TEST(ErrorBound, RoundsOnceToWhatIsStored) {
  const ErrorBound single = bound_of(Precision::fp32, 100), half = bound_of(Precision::fp16, 100);
  EXPECT_EQ(half.sum, single.sum) << "16-bit products are summed in fp32";
  EXPECT_EQ(half.scale, 4 * kU32);
  EXPECT_EQ(half.result, kU16);
  EXPECT_EQ(bound_of(Precision::bf16, 100).result, 0x1p-8);
  EXPECT_EQ(half.absolute, 0x1p-25) << "half a unit of fp16's subnormal numbers";
  EXPECT_EQ(single.absolute, 0x1p-150);
}

TEST(ErrorBound, TheReferencesOwnErrorCountsWhereItIsAsLarge) {
  EXPECT_EQ(bound_of(Precision::fp64, 64).sum, 2 * 64 * kU64);
  EXPECT_EQ(bound_of(Precision::fp64, 64).absolute, 0);
}

TEST(ErrorBound, IntegersAreExact) {
  for (const Precision precision : {Precision::int32, Precision::int8}) {
    const ErrorBound bound = bound_of(precision, 1000);
    EXPECT_EQ(bound.sum + bound.result + bound.scale + bound.absolute, 0);
  }
}

TEST(ErrorBound, PrecisionsOfTensorCoresErrAsTheyDo) {
  EXPECT_DOUBLE_EQ(bound_of(Precision::tf32, 64).sum, (1 + kU16) * (1 + kU16) - 1 + 64 * kU32);
  EXPECT_EQ(bound_of(Precision::tf32, 64).result, kU32);
  EXPECT_EQ(bound_of(Precision::bf16_fp32, 64).sum, bound_of(Precision::bf16, 64).sum) << "C alone differs";
  EXPECT_EQ(bound_of(Precision::bf16_fp32, 64).result, kU32);
  EXPECT_DOUBLE_EQ(bound_of(Precision::e4m3_fp32, 4096).sum, 8 * 2 * 0x1p-13 + 8 * std::sqrt(32.0) * kU32);
  EXPECT_EQ(bound_of(Precision::e5m2_bf16, 64).result, 0x1p-8);
}

TEST(ErrorBound, TensorCoresAddSeveralProductsAtOnce) {
  // 1024 steps, 16 at a time, truncated: 64 additions.
  EXPECT_EQ(sum_bound({.sum_roundoff = 2 * kU32, .sum_steps = 16}, 1024), 8 * 8 * 2 * kU32);
  EXPECT_EQ(sum_bound({.sum_roundoff = 2 * kU32, .sum_steps = 16}, 1009), 8 * 8 * 2 * kU32) << "the last one in part";
}

TEST(ErrorBound, RoundedFactorsCountOnceEach) {
  // (1 + u)^2 - 1, whatever the length of the sum.
  const Arithmetic rounds{.factor_roundoff = kU16, .sum_roundoff = kU32};
  EXPECT_DOUBLE_EQ(sum_bound(rounds, 64), (1 + kU16) * (1 + kU16) - 1 + 64 * kU32);
  EXPECT_DOUBLE_EQ(sum_bound(rounds, 6400), (1 + kU16) * (1 + kU16) - 1 + 640 * kU32);
}

TEST(ErrorBound, PromotionEndsTheCoarseSum) {
  // 4096 steps: sums of 128, four additions of 32 each, and 32 of them in fp32.
  const Arithmetic promotes{.sum_roundoff = 0x1p-13, .sum_steps = 32, .promotion_steps = 128};
  EXPECT_DOUBLE_EQ(sum_bound(promotes, 4096), 8 * 2 * 0x1p-13 + 8 * std::sqrt(32.0) * kU32);
  EXPECT_DOUBLE_EQ(sum_bound(promotes, 32), 8 * 0x1p-13 + 8 * kU32) << "a sum that ends before its promotion";
}

}  // namespace
}  // namespace mmtune
