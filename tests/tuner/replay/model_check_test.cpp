// The analytic model against files of measured times.
#include "tuner/replay/model_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <fstream>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTimesHeading = "set,precision,layout,m,n,k,mmtune_us,cublas_us,family,config\n";
constexpr const char* kTimedConfig = "BM=128 BN=256";

class ModelCheck : public Cli {
 protected:
  std::string written(const std::string& text) const {
    std::ofstream(path("times.csv")) << text;
    return path("times.csv");
  }
  static std::string line(std::int64_t n, double us, std::string_view set = "square") {
    return fmt::format("{},bf16,nn,{},{},{},{:.9f},1,wgmma,{}\n", set, n, n, n, us, kTimedConfig);
  }
  static double expected_us(std::int64_t n) {
    const Problem problem = packed_problem(Precision::bf16, Layout::nn, n, n, n);
    const DeviceSpec& device = catalog_gpu("h200");
    const Family& family = family_named("wgmma");
    const Config config = family.with_defaults(family.parse(kTimedConfig), problem);
    return predict(problem, family.plan(problem, config, device), device, 0).time_us;
  }
};

TEST_F(ModelCheck, AFileOfPredictionsHasNoErrors) {
  const auto times = checked_times(
      written(kTimesHeading + line(2048, expected_us(2048)) + line(4096, expected_us(4096))), catalog_gpu("h200"));
  ASSERT_EQ(times.size(), 2U);
  EXPECT_NEAR(times[0].error(), 0, 1e-6);
  EXPECT_NEAR(times[1].error(), 0, 1e-6);
}

TEST_F(ModelCheck, ErrorsAreMediansAndTheWorst) {
  const auto times =
      checked_times(written(kTimesHeading + line(1024, expected_us(1024) / 0.9) + line(2048, expected_us(2048) / 1.2) +
                            line(4096, expected_us(4096) / 0.6) + "square,fp32,nn,64,64,64,,,,\n"),
                    catalog_gpu("h200"));
  const auto errors = model_errors(times);
  ASSERT_EQ(errors.size(), 1U) << "a line without a time is left out";
  EXPECT_EQ(errors[0].rows, 3);
  EXPECT_NEAR(errors[0].median_error, 0.2, 1e-6);
  EXPECT_NEAR(errors[0].worst_error, -0.4, 1e-6);
  EXPECT_EQ(errors[0].worst.m, 4096);
  EXPECT_THAT(error_summary(times), HasSubstr("20.0 % (median of 3 times)"));
}

TEST_F(ModelCheck, TheProgramSaysSoOfTheSetsThatAreAskedFor) {
  const std::string file =
      written(kTimesHeading + line(2048, expected_us(2048) / 1.25) + line(4096, expected_us(4096) * 2, "odd"));
  const auto some = mmtune("model --device model:h200 --sets square,between --format csv --check " + file);
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_THAT(some.out, HasSubstr("bf16,wgmma,1,0.2500,0.2500,2048,2048,2048,"));
  const auto inputs = mmtune("model --device model:h200 --inputs --format csv --check " + file);
  EXPECT_EQ(inputs.code, 0) << inputs.err;
  EXPECT_THAT(inputs.out,
              HasSubstr("precision,layout,m,n,k,config,measured_us,analytic_us,power_factor,input_0,input_1,"))
      << "bench/fit_correction.py reads them";
  EXPECT_THAT(inputs.out, HasSubstr("\nbf16,nn,2048,2048,2048,"));
  EXPECT_NE(mmtune("model --device model:h200 --inputs --fit --check " + file).code, 0);
  const auto none = mmtune("model --device model:h200 --sets skinny --check " + file);
  EXPECT_EQ(none.code, 4) << none.err;
  EXPECT_THAT(none.err, HasSubstr("leave options out"));
}

TEST_F(ModelCheck, WhatTheDeviceDoesNotRunIsLeftOut) {
  const std::string naive = "square,fp32,nn,64,64,64,100,1,naive,\n";
  EXPECT_EQ(checked_times(written(kTimesHeading + line(2048, 1) + naive), catalog_gpu("t4")).size(), 1u);
}

TEST_F(ModelCheck, RefusesWhatItCannotRead) {
  const auto message = [&](const std::string& text, const char* gpu = "h200") -> std::string {
    try {
      checked_times(written(text), catalog_gpu(gpu));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "taken";
  };
  const auto with = [&](const char* cells) { return message(std::string(kTimesHeading) + cells); };
  EXPECT_THAT(message("precision,m,n,k\nfp32,1,1,1\n"), HasSubstr("no column 'layout'; name a file"));
  EXPECT_THAT(with("s,fp12,nn,64,64,64,1,1,naive,\n"), HasSubstr("times.csv:2: precision 'fp12'"));
  EXPECT_THAT(with("s,fp32,xx,64,64,64,1,1,naive,\n"), HasSubstr("layout 'xx'"));
  EXPECT_THAT(with("s,fp32,nn,64,0,64,1,1,naive,\n"), HasSubstr("n '0'; write a number from 1"));
  EXPECT_THAT(with("s,fp32,nn,64,64,64,-1,1,naive,\n"), HasSubstr("mmtune_us '-1'"));
  EXPECT_THAT(with("s,fp32,nn,64,64,64,nan,1,naive,\n"), HasSubstr("mmtune_us 'nan'"));
  EXPECT_THAT(with("s,fp32,nn,64,64,64,1,1,nothing,\n"), HasSubstr("times.csv:2: "));
  EXPECT_THAT(with("s,fp32,nn,64,64,64,1,1,naive,BX=7\n"), HasSubstr("times.csv:2: "));
  EXPECT_THAT(with("s,fp32,nn\n"), ::testing::StrEq("taken")) << "a line without a time";
  EXPECT_THAT(message(kTimesHeading + line(2048, 1), "t4"), HasSubstr("name the device that was measured"));
}

}  // namespace
}  // namespace mmtune
