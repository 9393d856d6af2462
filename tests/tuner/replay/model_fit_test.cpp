// Numbers of the analytic model that are fitted to times.
#include "tuner/replay/model_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <span>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

/// Times of some proven kernels on an H200 that has these numbers.
std::vector<CheckedTime> times_with(const ModelNumbers& numbers) {
  constexpr std::size_t kStep = 6;  // Every sixth kernel is enough: a fit to all takes 14 s.
  DeviceSpec device = catalog_gpu("h200");
  device.numbers = &numbers;
  std::vector<CheckedTime> times;
  for (const char* name : {"simt", "wgmma"}) {
    const Family& family = family_named(name);
    const std::span<const Proven> rows = family.proven();
    for (std::size_t i = 0; i < rows.size(); i += kStep) {
      const Proven& proven = rows[i];
      CheckedTime time;
      time.problem = packed_problem(proven.precision, Layout::nn, proven.m, proven.n, proven.k);
      const Config config = family.with_defaults(family.parse(proven.config), time.problem);
      const auto plan = family.legal_plan(time.problem, config, device);
      if (!plan) continue;
      time.candidate = {&family, config};
      time.measured_us = predict(time.problem, *plan, device, 0).analytic_us;
      times.push_back(time);
    }
  }
  return times;
}

TEST(ModelFitTest, TimesOfTheModelChangeNothing) {
  const DeviceSpec& device = catalog_gpu("h200");
  const ModelFit fit = fit_numbers(times_with(model_numbers(device)), device);
  EXPECT_TRUE(fit.numbers.empty());
  EXPECT_NEAR(fit.error_before, 0, 1e-12);
}

TEST(ModelFitTest, KnownRatesAreRecovered) {
  const DeviceSpec& device = catalog_gpu("h200");
  ModelNumbers truth = model_numbers(device);
  truth.launch_us *= 2;
  truth.accelerator_launch_us *= 1.5;
  truth.accelerator_read_share /= 1.3;
  const ModelFit fit = fit_numbers(times_with(truth), device);
  ASSERT_GE(fit.times, 60u);
  EXPECT_LT(fit.error_after, fit.error_before / 5);
  const auto fitted = [&](double ModelNumbers::*member) {
    for (const FittedNumber& each : fit.numbers) {
      if (each.number->member == member) return each.fitted;
    }
    return model_numbers(device).*member;
  };
  for (double ModelNumbers::*member :
       {&ModelNumbers::launch_us, &ModelNumbers::accelerator_launch_us, &ModelNumbers::accelerator_read_share}) {
    EXPECT_NEAR(fitted(member) / (truth.*member), 1, 0.1);
  }
  EXPECT_THAT(fit_summary(fit), HasSubstr("other numbers (root mean square of "));
}

class ModelNumbersCli : public Cli {};

TEST_F(ModelNumbersCli, ArePrintedForADevice) {
  const Result outcome = mmtune("model --device model:k20c --numbers --format csv");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("name,unit,value,from,origin,source,meaning\nschedulers,,4,0,specification,"));
  EXPECT_THAT(outcome.out, HasSubstr("\nissues,instructions/clock,2,30,specification,"));
}

}  // namespace
}  // namespace mmtune
