// What makes a decision wrong, what only makes it stale, and what is not known.
#include "tuner/tune/validity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/stored_kernels.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

class ValidityTest : public ::testing::Test {
 protected:
  ValidityTest() {
    const test::Decision decision{packed_problem(Precision::fp32, Layout::nn, 512, 512, 512)};
    const CompileTarget target{90, true, "sm_90a"};
    const Source source = test::source_of(decision, device_, 90);
    winner_.trial.key = {key_of(device_), decision.problem,  decision.family, test::config_of(decision, device_).text(),
                         source.hash,     Evidence::measured};
    winner_.trial.environment = {"570.86", "13.0", "commit", "GPU-1"};
    winner_.trial.timing.conditions.clock_limit_mhz = 1980;
    winner_.trial.timing.conditions.power_limit_w = 700;
    winner_.binary = test::pretended_binary(source, target);
  }

  State state() const { return state_of(winner_, device_, TemplateFiles::embedded(), now_); }

  void expect(Validity validity, const std::string& reason) const {
    EXPECT_EQ(state().validity, validity) << state().reason;
    EXPECT_EQ(state().reason, reason);
  }

  DeviceSpec device_ = catalog_gpu("h200");
  Surroundings now_{"570.86", "13.0", 1980, 700};
  Winner winner_;
};

TEST_F(ValidityTest, NothingChanged) { expect(Validity::current, ""); }

TEST_F(ValidityTest, WhatChangesTheTimeMakesStale) {
  now_.driver = "580.65";
  expect(Validity::stale, "driver 570.86 then, 580.65 now");
  now_.driver = "570.86";
  now_.clock_limit_mhz = 1500;
  expect(Validity::stale, "clock limit 1980 MHz then, 1500 MHz now");
  now_.clock_limit_mhz = 1980;
  now_.power_limit_w = 600;
  expect(Validity::stale, "power limit 700 W then, 600 W now");
  now_.power_limit_w = 700.1;
  expect(Validity::current, "");
}

TEST_F(ValidityTest, WhatChangesTheProgramMakesWrong) {
  now_.driver = "580.65";
  now_.nvrtc = "13.1";
  expect(Validity::wrong, "NVRTC 13.0 then, 13.1 now");
  winner_.trial.key.source_hash = "another";
  expect(Validity::wrong, "its kernel has changed since");
  winner_.binary.target = "sm_80";
  device_.installed = true;
  expect(Validity::wrong, "compiled for sm_80");
  winner_.trial.key.family = "forgotten";
  expect(Validity::wrong, "unknown family forgotten");
}

TEST_F(ValidityTest, WhatIsUnknownIsNotCompared) {
  now_ = {};
  expect(Validity::current, "");
  now_ = {"580.65", "13.1", 1500, 600};
  winner_.trial.environment = {};
  winner_.trial.timing.conditions.clock_limit_mhz = 0;
  winner_.trial.timing.conditions.power_limit_w = 0;
  expect(Validity::current, "");
  winner_.trial.key.source_hash = "another";
  EXPECT_EQ(state_of(winner_, std::nullopt, TemplateFiles::embedded(), now_).validity, Validity::current);
}

}  // namespace
}  // namespace mmtune
