#include "tuner/commands/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

namespace mmtune {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(Options, PrecisionsInTheOrderGivenOnce) {
  EXPECT_THAT(parse_precisions("fp16,fp32,fp16"), ElementsAre(Precision::fp16, Precision::fp32));
  EXPECT_THAT(parse_precisions("all"), ElementsAreArray(kAllPrecisions));
}

TEST(Options, Layouts) {
  EXPECT_THAT(parse_layouts("tn, nn"), ElementsAre(Layout::tn, Layout::nn));
  EXPECT_THROW(parse_layouts("nn,"), UsageError);
  EXPECT_THROW(parse_layouts("NN"), UsageError);
}

TEST(Options, UnknownNameIsListedWithTheKnownOnes) {
  try {
    parse_precisions("fp32,fp33");
    FAIL() << "fp33 was accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--precision 'fp33': unknown; write one of fp32, fp64, int32, fp16, bf16, fp16_fp32, bf16_fp32, tf32, "
                 "int8, e4m3_bf16, e4m3_fp32, e5m2_bf16, e5m2_fp32, fp32_emulated");
  }
}

TEST(Options, Seeds) {
  EXPECT_THAT(parse_seeds("7"), ElementsAre(7));
  EXPECT_THAT(parse_seeds("3..5, 1,2..2"), ElementsAre(3, 4, 5, 1, 2));
  EXPECT_THAT(parse_seeds("18446744073709551614..18446744073709551615").size(), 2);
  for (const auto* text : {"", "5..1", "1..", "..2", "-1", "x", "1,", "1..1001", "1..600,1..600"}) {
    EXPECT_THROW(parse_seeds(text), UsageError) << text;
  }
}

TEST(Options, Durations) {
  EXPECT_EQ(parse_duration_s("60"), 60);
  EXPECT_EQ(parse_duration_s("1.5s"), 1.5);
  EXPECT_EQ(parse_duration_s("5m"), 300);
  EXPECT_EQ(parse_duration_s("2h"), 7200);
  for (const auto* text : {"", "s", "0s", "-1s", "5 m", "5d", "nan", "inf", "1e400", "1e307h", "1e10"}) {
    EXPECT_THROW(parse_duration_s(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace mmtune
