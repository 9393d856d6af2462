#include "templates/problem/dtype.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <set>

#include "templates/family/render.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

/// What every format must say of itself.
void check(const FormatTraits& format) {
  SCOPED_TRACE(format.type);
  EXPECT_FALSE(format.type.empty());
  EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(format.bytes))) << format.bytes;
  EXPECT_LE(format.bytes, 8);
  EXPECT_EQ(format.integer, format.roundoff == 0);
  if (format.integer) return;
  EXPECT_EQ(std::exp2(std::ilogb(format.roundoff)), format.roundoff) << "a power of two";
  EXPECT_LT(-std::ilogb(format.roundoff), 8 * format.bytes) << "more bits in the significand than in the number";
  EXPECT_LT(format.smallest, format.roundoff);
}

TEST(Dtype, EveryRowIsComplete) {
  std::set<std::string_view> names;
  for (const Precision precision : kAllPrecisions) {
    const PrecisionTraits& types = traits(precision);
    SCOPED_TRACE(types.name);
    EXPECT_EQ(types.precision, precision);
    EXPECT_FALSE(types.name.empty());
    EXPECT_TRUE(names.insert(types.name).second);
    for (const FormatTraits* format : {&types.a, &types.b, &types.c, &types.accumulator, &types.scalar}) check(*format);
    EXPECT_GE(types.accumulator.bytes, 4);
    EXPECT_LE(types.accumulator.roundoff, types.c.roundoff);
    EXPECT_EQ(types.scalar.integer, types.accumulator.integer);
    EXPECT_EQ(types.c.integer, types.accumulator.integer);
    EXPECT_GE(types.arithmetic.sum_steps, 1);
    EXPECT_EQ(types.arithmetic.sum_roundoff > 0, !types.accumulator.integer) << "only integers are exact";
    EXPECT_LT(static_cast<std::size_t>(types.unit), kUnits);
  }
}

TEST(Dtype, AFormatIsTheSameInEveryRow) {
  std::map<NumberFormat, FormatTraits> known;
  for (const Precision precision : kAllPrecisions) {
    const PrecisionTraits& types = traits(precision);
    for (const FormatTraits& format : {types.a, types.b, types.c, types.accumulator, types.scalar}) {
      const FormatTraits& first = known.emplace(format.format, format).first->second;
      EXPECT_EQ(format.type, first.type);
      EXPECT_EQ(format.bytes, first.bytes);
      EXPECT_EQ(format.roundoff, first.roundoff);
    }
  }
}

TEST(Dtype, RoundoffsAreHalfAnUlpOfOne) {
  EXPECT_EQ(traits(Precision::fp16).c.roundoff, std::ldexp(1.0, -11));
  EXPECT_EQ(traits(Precision::bf16).c.roundoff, std::ldexp(1.0, -8));
  EXPECT_EQ(traits(Precision::bf16).accumulator.roundoff, std::ldexp(1.0, -24));
  EXPECT_EQ(traits(Precision::fp64).accumulator.roundoff, std::ldexp(1.0, -53));
}

TEST(Dtype, IntegersWrapAroundInUnsigned) {
  const PrecisionTraits& types = traits(Precision::int32);
  EXPECT_EQ(types.accumulator.type, "unsigned");
  EXPECT_TRUE(same_bits(types.a, types.accumulator)) << "an int is copied to where an unsigned is read";
}

TEST(Dtype, OnlyTheSameNumbersAreCopied) {
  const FormatTraits single = traits(Precision::fp32).a, integer = traits(Precision::int32).a;
  EXPECT_TRUE(same_bits(single, traits(Precision::fp16).accumulator));
  EXPECT_FALSE(same_bits(single, integer)) << "alike in bytes alone";
  EXPECT_FALSE(same_bits(traits(Precision::fp16).a, traits(Precision::bf16).a));
}

TEST(Dtype, CudaCoresMultiplyInTheAccumulatorsFormat) {
  EXPECT_EQ(core_unit(Precision::fp32), Unit::core_fp32);
  EXPECT_EQ(core_unit(Precision::bf16), Unit::core_fp32);
  EXPECT_EQ(core_unit(Precision::fp64), Unit::core_fp64);
  EXPECT_EQ(core_unit(Precision::int32), Unit::core_int32);
}

TEST(Dtype, KernelsKnowEveryTypeAndItsConversions) {
  const std::string& header = TemplateFiles::embedded().device_headers().at("mmtune/numeric.cuh");
  for (const Precision precision : kAllPrecisions) {
    const PrecisionTraits& types = traits(precision);
    for (const FormatTraits& format : {types.a, types.b, types.c}) {
      EXPECT_THAT(header, HasSubstr("value_of(" + std::string(format.type) + " element)"));
      EXPECT_THAT(header, HasSubstr("assign(" + std::string(format.type) + "& element, "));
    }
  }
}

}  // namespace
}  // namespace mmtune
