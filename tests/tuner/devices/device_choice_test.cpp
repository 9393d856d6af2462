#include "tuner/devices/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <string>

#include "templates/gpu/gpu_catalog.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
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

TEST(DeviceChoice, ARefusalShowsNoControlCharacters) {
  try {
    choose_device("\x1b[31m");
    FAIL() << "it was accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--device '\\x1b[31m'"));
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

/// Two equal cards and another one.
std::vector<DeviceSpec> three_gpus() {
  std::vector<DeviceSpec> gpus{catalog_gpu("h200"), catalog_gpu("h200"), catalog_gpu("t4")};
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].uuid = "GPU-" + std::to_string(i);
  return gpus;
}

std::vector<DeviceSpec> no_gpus() { return {}; }

/// Numbers of GPUs, -1 for models.
std::vector<int> ordinals(const std::vector<DeviceChoice>& devices) {
  std::vector<int> list;
  for (const DeviceChoice& device : devices) {
    list.push_back(device.ordinal);
    if (device.ordinal >= 0) {
      EXPECT_EQ(device.spec.uuid, "GPU-" + std::to_string(device.ordinal));
    }
  }
  return list;
}

TEST(DeviceChoice, AllAreAllInstalledInTheirOrder) {
  EXPECT_THAT(ordinals(choose_devices("all", three_gpus)), ElementsAre(0, 1, 2));
  EXPECT_THROW(choose_devices("all", no_gpus), DeviceError);
}

TEST(DeviceChoice, NumbersAreThoseOfTheDriver) {
  EXPECT_THAT(ordinals(choose_devices("0,1", three_gpus)), ElementsAre(0, 1));
  EXPECT_THAT(ordinals(choose_devices(" 2 , 0", three_gpus)), ElementsAre(2, 0));
  EXPECT_THAT(ordinals(choose_devices("auto", three_gpus)), ElementsAre(0));
}

TEST(DeviceChoice, ModelsMixWithInstalledGpus) {
  const auto devices = choose_devices("1,model:h200,0", three_gpus);
  EXPECT_THAT(ordinals(devices), ElementsAre(1, -1, 0));
  EXPECT_EQ(models_of(devices).size(), 2U) << "measured and predicted";
  EXPECT_THAT(ordinals(choose_devices("model:t4", no_gpus)), ElementsAre(-1));
}

TEST(DeviceChoice, AnInstalledGpuIsNamedOnceHoweverItIsWritten) {
  for (const auto* text : {"0,0", "0,1,00", "auto,0", "model:t4,1,model:T4"}) {
    EXPECT_THROW(choose_devices(text, three_gpus), UsageError) << text;
  }
}

TEST(DeviceChoice, ANumberThatDoesNotExistSaysWhichDo) {
  try {
    choose_devices("0,3", three_gpus);
    FAIL() << "GPU 3 of three was accepted";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no GPU 3: there are 0 to 2"));
  }
  EXPECT_THROW(choose_devices("0", no_gpus), DeviceError);
}

TEST(DeviceChoice, TheDriverIsAskedOnceAndOnlyIfNeedBe) {
  int times = 0;
  const auto count = [&times] { return ++times, three_gpus(); };
  choose_devices("model:t4,model:h200", count);
  EXPECT_EQ(times, 0);
  choose_devices("0,1,2", count);
  EXPECT_EQ(times, 1);
}

StoredGpuQuery results_of(std::vector<DeviceKey> keys) {
  return [keys = std::move(keys)] { return StoredGpus{"some.db", keys}; };
}

/// What the refusal of "auto" says without a GPU and with results of these.
std::string refusal(std::vector<DeviceKey> keys) {
  try {
    choose_described_device("auto", no_gpus, results_of(std::move(keys)));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(DeviceChoice, WithoutAGpuTheOneWithResultsIsMeant) {
  const DeviceKey t4 = key_of(catalog_gpu("t4"));
  const auto device = choose_described_device("auto", no_gpus, results_of({t4}));
  EXPECT_EQ(key_of(device.spec), t4);
  EXPECT_EQ(device.ordinal, -1);
  EXPECT_EQ(key_of(choose_described_devices("auto", no_gpus, results_of({t4})).at(0).spec), t4);
  EXPECT_EQ(choose_described_device("auto", three_gpus, results_of({t4})).ordinal, 0) << "an installed one goes first";
  EXPECT_EQ(choose_described_device("auto", no_gpus).spec.name, catalog_gpu("h200").name);
}

TEST(DeviceChoice, OfSeveralWithResultsOneMustBeNamed) {
  const DeviceKey t4 = key_of(catalog_gpu("t4")), h200 = key_of(catalog_gpu("h200"));
  EXPECT_THAT(refusal({t4, h200}), AllOf(HasSubstr("some.db has results of"), HasSubstr("(model:t4)"),
                                         HasSubstr("NVIDIA H200 (model:h200); name one")));
  auto stranger = t4;
  stranger.name = "No Such Card";
  EXPECT_THAT(refusal({stranger}), AllOf(HasSubstr("No Such Card"), HasSubstr("model:NAME")));
}

TEST(DeviceChoice, AModelWithoutItsPrefixIsRecognised) {
  for (const auto& [text, meant] : {std::pair("h200", "'model:h200'"), {"H100", "'model:h100"}, {"AUTO", "'auto'"}}) {
    try {
      choose_device(text, no_gpus);
      FAIL() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("did you mean ") + meant)) << text;
    }
  }
}

TEST(DeviceChoice, WhatMeasuresNothingHasNoLinesAboutMeasuring) {
  testing::internal::CaptureStderr();
  choose_described_device("auto", no_gpus);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "mmtune: no GPU is installed: this is for model:h200; --device names another\n");
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
