#include <gtest/gtest.h>
#include <mmtune/types.h>

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
  EXPECT_EQ(to_string(static_cast<Precision>(0)), "fp32");
  EXPECT_EQ(to_string(static_cast<Precision>(1)), "fp64");
  EXPECT_EQ(to_string(static_cast<Precision>(2)), "int32");
  EXPECT_EQ(to_string(static_cast<Precision>(3)), "fp16");
  EXPECT_EQ(to_string(static_cast<Precision>(4)), "bf16");
  EXPECT_EQ(to_string(static_cast<Precision>(5)), "fp16_fp32");
  EXPECT_EQ(to_string(static_cast<Precision>(6)), "bf16_fp32");
  EXPECT_EQ(to_string(static_cast<Precision>(7)), "tf32");
  EXPECT_EQ(to_string(static_cast<Precision>(8)), "int8");
  EXPECT_EQ(to_string(static_cast<Precision>(9)), "e4m3_bf16");
  EXPECT_EQ(to_string(static_cast<Precision>(10)), "e4m3_fp32");
  EXPECT_EQ(to_string(static_cast<Precision>(11)), "e5m2_bf16");
  EXPECT_EQ(to_string(static_cast<Precision>(12)), "e5m2_fp32");
  EXPECT_EQ(to_string(static_cast<Precision>(13)), "fp32_emulated");
  EXPECT_EQ(to_string(static_cast<Precision>(14)), "bf16_x_fp32");
  EXPECT_EQ(to_string(static_cast<Layout>(1)), "nt");
  EXPECT_EQ(to_string(static_cast<Layout>(2)), "tn");
}

}  // namespace
}  // namespace mmtune
