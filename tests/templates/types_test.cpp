#include <gtest/gtest.h>

#include <cmath>

#include "templates/dtype.h"

namespace mmtune {
namespace {

TEST(Types, EveryNameReadsBack) {
  for (const Precision precision : kAllPrecisions) EXPECT_EQ(parse_precision(to_string(precision)), precision);
  for (const Layout layout : kAllLayouts) EXPECT_EQ(parse_layout(to_string(layout)), layout);
}

TEST(Types, OtherTextIsNothing) {
  for (const char* text : {"", "FP32", "fp32 ", "fp8", "float"}) EXPECT_FALSE(parse_precision(text)) << text;
  for (const char* text : {"", "n", "NN", "nnt"}) EXPECT_FALSE(parse_layout(text)) << text;
}

TEST(Types, StoredNamesAreFrozen) {
  EXPECT_EQ(to_string(static_cast<Precision>(3)), "fp16");
  EXPECT_EQ(to_string(static_cast<Precision>(4)), "bf16");
  EXPECT_EQ(to_string(static_cast<Layout>(1)), "nt");
  EXPECT_EQ(to_string(static_cast<Layout>(2)), "tn");
}

TEST(Dtype, TraitsBelongToTheirPrecision) {
  for (const Precision precision : kAllPrecisions) EXPECT_EQ(traits(precision).precision, precision);
}

TEST(Dtype, IntegersWrapAroundInUnsigned) {
  const PrecisionTraits& type = traits(Precision::int32);
  EXPECT_TRUE(type.integer);
  EXPECT_EQ(type.accumulator, "unsigned");
  EXPECT_EQ(type.element_roundoff, 0);
}

TEST(Dtype, RoundoffsAreHalfAnUlpOfOne) {
  EXPECT_EQ(traits(Precision::fp16).element_roundoff, std::ldexp(1.0, -11));
  EXPECT_EQ(traits(Precision::bf16).element_roundoff, std::ldexp(1.0, -8));
  EXPECT_EQ(traits(Precision::bf16).accumulator_roundoff, std::ldexp(1.0, -24));
  EXPECT_EQ(traits(Precision::fp64).accumulator_roundoff, std::ldexp(1.0, -53));
}

}  // namespace
}  // namespace mmtune
