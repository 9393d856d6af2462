#include "tuner/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include "templates/gpu_catalog.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

TEST(DeviceChoice, ModelIsNeverInstalled) {
  const auto device = choose_device("model:h200");
  EXPECT_EQ(device.ordinal, -1);
  EXPECT_FALSE(device.spec.installed);
  EXPECT_EQ(compute_capability(device.spec), 90);
  EXPECT_THAT(to_string(device), HasSubstr("predicted"));
}

TEST(DeviceChoice, UnknownModelListsTheKnownOnes) {
  try {
    choose_device("model:nothing");
    FAIL() << "model:nothing was accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nothing"));
    for (const auto& entry : gpu_catalog()) EXPECT_THAT(error.what(), HasSubstr(std::string(entry.key)));
  }
}

TEST(DeviceChoice, OtherTextIsAUsageError) {
  for (const auto* text : {"", "first", "-1", "0x", "1.5", "99999999999999999999", "model", "AUTO"}) {
    EXPECT_THROW(choose_device(text), UsageError) << text;
  }
}

TEST(DeviceChoice, GpuThatDoesNotExistIsADeviceError) { EXPECT_THROW(choose_device("99"), DeviceError); }

TEST(DeviceChoice, AutomaticAlwaysGivesADevice) { EXPECT_GT(choose_device("auto").spec.sm_count, 0); }

TEST(DeviceChoice, CatalogueGpusAreKnown) {
  const auto& a100 = catalog_gpu("a100");
  const auto known = known_gpu(key_of(a100));
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->core_clock_mhz, a100.core_clock_mhz);
  auto stranger = key_of(a100);
  stranger.name = "No Such Card";
  EXPECT_FALSE(known_gpu(stranger).has_value());
}

}  // namespace
}  // namespace mmtune
