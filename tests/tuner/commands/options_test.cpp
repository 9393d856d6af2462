#include "tuner/commands/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include "templates/gpu/gpu_catalog.h"
#include "tuner/commands/described_device.h"

namespace mmtune {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

TEST(Options, PrecisionsInTheOrderGivenOnce) {
  EXPECT_THAT(parse_precisions("fp16,fp32,fp16"), ElementsAre(Precision::fp16, Precision::fp32));
  EXPECT_THAT(parse_precisions("all"), ElementsAreArray(kAllPrecisions));
  EXPECT_THAT(parse_precisions("fp16,all"), ElementsAreArray(kAllPrecisions));
}

TEST(Options, Layouts) {
  EXPECT_THAT(parse_layouts("tn, nn"), ElementsAre(Layout::tn, Layout::nn));
  EXPECT_THROW(parse_layouts("nn,"), UsageError);
  EXPECT_THAT(parse_layouts("NN,tT"), ElementsAre(Layout::nn, Layout::tt));
}

TEST(Options, UnknownNameIsListedWithTheKnownOnes) {
  try {
    parse_precisions("fp32,fp33");
    FAIL() << "fp33 was accepted";
  } catch (const UsageError& error) {
    std::string expected = "--precision 'fp33': unknown; did you mean 'fp32'? write one of fp32";
    for (const Precision precision : kAllPrecisions) {
      if (precision != Precision::fp32) expected.append(", ").append(to_string(precision));
    }
    EXPECT_EQ(error.what(), expected + ", all");
  }
}

TEST(Options, NamesOfOtherProgramsLeadToOurs) {
  for (const auto& [text, ours] : {std::pair("fp8", "'e4m3_bf16'"), {"Half", "'fp16'"}, {"float", "'fp32'"}}) {
    try {
      parse_precisions(text);
      FAIL() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("did you mean ") + ours)) << text;
    }
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

TEST(Options, TheCommandThatTunesNamesTheModelThatWasMeantAndTheDatabase) {
  Problem problem = packed_problem(Precision::bf16, Layout::nt, 5, 6, 7);
  const DeviceChoice t4{catalog_gpu("t4"), -1};
  EXPECT_EQ(tune_options(t4, {}, problem), "--device model:t4 --sizes 5x6x7 --precision bf16 --layout nt");
  EXPECT_EQ(tune_options({catalog_gpu("t4"), 0}, {}, packed_problem(Precision::fp32, Layout::nn, 5, 6, 7)),
            "--sizes 5x6x7");
  Options options;
  options.device = "model:h100";
  options.database = "some.db";
  problem.invariant = true;
  EXPECT_EQ(tune_options(t4, options, problem),
            "--device model:h100 --sizes 5x6x7 --precision bf16 --layout nt --invariant --db some.db");
  // What is advised can be given to a shell, however long the path is.
  const std::string deep = "/my results/" + std::string(200, 'x');
  options.database = deep;
  EXPECT_THAT(tune_options(t4, options, problem), testing::EndsWith(" --db '" + deep + "'"));
}

}  // namespace
}  // namespace mmtune
