// NVML's answers through a library that pretends to be it.
#include "runtime/gpu/nvml.h"

#include <gtest/gtest.h>

#include "db/trial.h"
#include "test_paths.h"
#include "tests/fake_nvml/fake_nvml.h"

namespace mmtune {
namespace {

using test::fake_nvml;
using test::NvmlAnswers;

constexpr int kIdle = 0x01, kSyncBoost = 0x10, kDisplay = 0x100;  // reasons that slow no kernel

class NvmlTest : public ::testing::Test {
 protected:
  NvmlAnswers& answers_ = fake_nvml();
  Nvml nvml_{test::kFakeGpu, {"/nowhere/libnvidia-ml.so.1", MMTUNE_FAKE_NVML}};
};

TEST_F(NvmlTest, SensorsAreReadInTheirUnits) {
  EXPECT_EQ(nvml_.sm_clock_mhz(), 1410);
  EXPECT_EQ(nvml_.memory_clock_mhz(), 2619);
  EXPECT_EQ(nvml_.power_w(), 650.5);
  EXPECT_EQ(nvml_.power_limit_w(), 700.0);
}

TEST_F(NvmlTest, TheClockLimitIsThatForApplicationsElseTheHighest) {
  EXPECT_EQ(nvml_.clock_limit_mhz(), 1500);
  answers_.application_clock_mhz = -1;
  EXPECT_EQ(nvml_.clock_limit_mhz(), 1980);
  answers_.highest_clock_mhz = -1;
  EXPECT_FALSE(nvml_.clock_limit_mhz());
}

TEST_F(NvmlTest, EveryReasonThatSlowsAKernelIsToldAndNoOther) {
  EXPECT_EQ(nvml_.throttle(), 0);
  for (const int bit : {kPowerCap, kHardwareSlowdown, kThermalSlowdown, kHardwareThermalSlowdown, kPowerBrake}) {
    answers_.reasons = bit | kIdle | kSyncBoost | kDisplay;
    EXPECT_EQ(nvml_.throttle(), bit);
    EXPECT_EQ(throttle_names(nvml_.throttle()).size(), 1U);
  }
  answers_.reasons = kIdle | kSyncBoost | kDisplay;
  EXPECT_EQ(nvml_.throttle(), 0);
}

TEST_F(NvmlTest, ProcessesAreCountedHoweverMany) {
  for (const int count : {0, 1, 2, 300}) {
    answers_.processes = count;
    EXPECT_EQ(nvml_.processes(), count);
  }
}

TEST_F(NvmlTest, WhatASensorDoesNotSayIsUnknown) {
  answers_.sm_clock_mhz = answers_.memory_clock_mhz = answers_.power_mw = answers_.power_limit_mw = -1;
  answers_.reasons = answers_.processes = -1;
  EXPECT_FALSE(nvml_.sm_clock_mhz());
  EXPECT_FALSE(nvml_.memory_clock_mhz());
  EXPECT_FALSE(nvml_.power_w());
  EXPECT_FALSE(nvml_.power_limit_w());
  EXPECT_EQ(nvml_.throttle(), 0);
  EXPECT_FALSE(nvml_.processes());
}

TEST(Nvml, WhatItStartsItShutsDown) {
  NvmlAnswers& answers = fake_nvml();
  {
    const Nvml nvml(test::kFakeGpu, {MMTUNE_FAKE_NVML});
    EXPECT_EQ(answers.sessions, 1);
  }
  EXPECT_EQ(answers.sessions, 0);
}

TEST(Nvml, IsUnavailableWhereItDoesNotStartOrDoesNotKnowTheGpu) {
  NvmlAnswers& answers = fake_nvml();
  EXPECT_FALSE(Nvml("GPU-other", {MMTUNE_FAKE_NVML}).sm_clock_mhz());
  EXPECT_EQ(answers.sessions, 0);
  answers.starts = false;
  const Nvml nvml(test::kFakeGpu, {MMTUNE_FAKE_NVML});
  EXPECT_FALSE(nvml.sm_clock_mhz());
  EXPECT_EQ(answers.sessions, 0);
  EXPECT_FALSE(Nvml(test::kFakeGpu, {"/nowhere/libnvidia-ml.so.1"}).sm_clock_mhz());
}

}  // namespace
}  // namespace mmtune
