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

TEST(DeviceChoice, SeveralAreNamedWithCommasAndNoneTwice) {
  const auto devices = choose_devices("model:t4, model:h200");
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1].spec.name, catalog_gpu("h200").name);
  EXPECT_THROW(choose_devices("model:t4,model:t4"), UsageError);
  EXPECT_THROW(choose_devices("model:t4,"), UsageError);
  EXPECT_THROW(choose_devices("all,model:t4"), UsageError);
}

TEST(DeviceChoice, EqualCardsAreOneModelAndPredictionsAnother) {
  const DeviceSpec& h200 = catalog_gpu("h200");
  const auto models = models_of({{h200, 0}, {catalog_gpu("t4"), 1}, {h200, 2}, {h200, -1}});
  ASSERT_EQ(models.size(), 3U);
  EXPECT_EQ(models[0].ordinal, 0);
  EXPECT_EQ(models[1].ordinal, 1);
  EXPECT_EQ(models[2].ordinal, -1);
}

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
