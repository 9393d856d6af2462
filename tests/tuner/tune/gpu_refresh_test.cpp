// Conditions, staleness and repetition on a GPU, from the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "db/store.h"
#include "runtime/gpu/device_query.h"
#include "runtime/gpu/nvml.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class GpuRefresh : public Cli {
 protected:
  void SetUp() override {
    if (const auto why = test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }

  nlohmann::json shown() const { return nlohmann::json::parse(mmtune("show --format json").out).at(0); }

  /// Lets every row look as if another driver had been there.
  void change_driver() const {
    Store store = Store::open(path("default.db"), OpenMode::read_write);
    auto trials = store.trials();
    for (Trial& trial : trials) trial.environment.driver = "1.2.3";
    store.put(trials, {});
  }
};

TEST_F(GpuRefresh, TuneStoresTheConditions) {
  const auto tuned = mmtune("tune --device 0 --sizes 128 --effort quick --deterministic");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const auto row = shown();
  EXPECT_EQ(row.at("state"), "current") << row.at("reason");
  EXPECT_EQ(row.at("deterministic"), 1);
  if (Nvml(query_device(0).uuid).sm_clock_mhz()) {
    EXPECT_GT(row.at("sm_clock_mhz"), 100);
  }
  for (const Trial& trial : Store::open(path("default.db"), OpenMode::read_only).trials()) {
    EXPECT_TRUE(trial.outcome != Outcome::ok || trial.deterministic) << trial.key.family << ' ' << trial.key.config;
  }
}

TEST_F(GpuRefresh, ADriverMakesStaleAndRefreshMakesCurrent) {
  if (driver_release().empty()) GTEST_SKIP() << "/proc does not tell the driver's release";
  constexpr auto kTune = "tune --device 0 --sizes 128 --family tiled --effort quick";
  ASSERT_EQ(mmtune(kTune).code, 0);
  const std::string search = Store::open(path("default.db"), OpenMode::read_only).winners().at(0).search;
  change_driver();
  EXPECT_EQ(shown().at("state"), "stale");
  EXPECT_THAT(shown().at("reason").get<std::string>(), HasSubstr("driver 1.2.3 then"));
  EXPECT_THAT(mmtune(kTune).err, HasSubstr("1 known before")) << "a stale decision stays usable";

  const auto result = mmtune("refresh --device 0");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 of 1 refreshed, 0 failed; 0 are current, 0 wrong"));
  EXPECT_EQ(shown().at("state"), "current");
  EXPECT_EQ(Store::open(path("default.db"), OpenMode::read_only).winners().at(0).search, search);
}

TEST_F(GpuRefresh, RunsFromScratchAreCompared) {
  const auto result =
      mmtune("repeatability --device 0 --sizes 96,128 --family tiled --effort quick --runs 2 --format csv");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("m,n,k,runs,same,ties,flips,worst_loss\n96,96,96,2,"));
  EXPECT_THAT(result.out, HasSubstr("\n128,128,128,2,"));
}

}  // namespace
}  // namespace mmtune
