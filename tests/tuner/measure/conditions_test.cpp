#include "tuner/measure/conditions.h"

#include <gtest/gtest.h>

namespace mmtune {
namespace {

TEST(Conditions, MeansAndAllReasons) {
  Conditions conditions;
  conditions.add({1980, 2619, kPowerCap, 0}, 0);
  conditions.add({1900, std::nullopt, kThermalSlowdown, 2}, 3);
  conditions.add({std::nullopt, std::nullopt, 0, 1}, 1);
  Timing timing;
  conditions.describe(timing);
  EXPECT_EQ(timing.sm_clock_mhz, 1940);
  EXPECT_EQ(timing.conditions.memory_clock_mhz, 2619);
  EXPECT_EQ(timing.throttle, kPowerCap | kThermalSlowdown);
  EXPECT_EQ(timing.conditions.co_tenants, 2);
  EXPECT_EQ(timing.disturbed, 4);
}

TEST(Conditions, WhatWasNotReadIsUnknown) {
  Timing timing;
  Conditions().describe(timing);
  EXPECT_EQ(timing.sm_clock_mhz, 0);
  EXPECT_EQ(timing.conditions.co_tenants, -1);
  Conditions silent;
  silent.add({}, 0);
  silent.describe(timing);
  EXPECT_EQ(timing.conditions.memory_clock_mhz, 0);
  EXPECT_EQ(timing.conditions.co_tenants, -1);
}

TEST(Conditions, ThePowerCapIsPartOfTheKernelOtherBrakesAreNot) {
  EXPECT_FALSE(disturbs({}));
  EXPECT_FALSE(disturbs({1980, 2619, kPowerCap, 0}));
  EXPECT_TRUE(disturbs({1980, 2619, kPowerCap | kHardwareThermalSlowdown, 0}));
  EXPECT_TRUE(disturbs({1980, 2619, 0, 1}));
}

TEST(Conditions, WithoutSensorsNothingIsRead) {
  const Reading reading = read(Nvml("no such GPU"), true);
  EXPECT_FALSE(reading.sm_clock_mhz);
  EXPECT_FALSE(reading.co_tenants);
  EXPECT_FALSE(disturbs(reading));
}

}  // namespace
}  // namespace mmtune
