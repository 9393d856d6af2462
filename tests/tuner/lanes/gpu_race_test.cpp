// The lane of a GPU times finalists against each other and says under which conditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/gpu/nvml.h"
#include "templates/family/families.h"
#include "tests/runtime/support.h"
#include "tests/tuner/edited_kernel.h"
#include "tuner/lanes/lane.h"
#include "tuner/tune/preparation.h"

namespace mmtune {
namespace {

using test::kLaunchCounter;
using test::kRoundsByTheClock;
using test::kWrongLater;
using ::testing::HasSubstr;

class GpuRace : public test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    lane_ = make_gpu_lane({device_, 0}, *nvrtc_, target_);
    lane_->begin(problem_, kScreenSamples);
  }

  Program finalist(std::string_view family, const Config& config,
                   const TemplateFiles& files = TemplateFiles::embedded()) const {
    const Preparation preparation(files, device_, target_, Evidence::measured, nvrtc_->version());
    const Family& found = family_named(family);
    Program program = preparation.program(problem_, {&found, found.complete(config, problem_, device_)});
    program.binary = preparation.binary(nvrtc_->compile(program.source, preparation.files(), target_));
    return program;
  }

  /// Some three times as slow as the default: twelve rounds have ended when the time of a race is up.
  const Config kSlow{{{"TILE", 4}, {"UNROLL", 1}}};
  Problem problem_ = packed_problem(Precision::fp32, Layout::nn, 512, 512, 512);
  std::unique_ptr<Lane> lane_;
};

TEST_F(GpuRace, AKernelTiesWithItself) {
  const Program one = finalist("tiled", {});
  const auto [verdicts, placings] = lane_->race({one, one, one});
  ASSERT_EQ(verdicts.size(), 3U);
  ASSERT_EQ(placings.size(), 3U);
  int leaders = 0;
  for (const Placing& placing : placings) {
    leaders += placing.standing == Standing::leader ? 1 : 0;
    EXPECT_NE(placing.standing, Standing::slower);
  }
  for (const Verdict& verdict : verdicts) {
    EXPECT_GE(verdict.timing.samples, 12);
    EXPECT_EQ(verdict.timing.conditions.mode, "graph");
    EXPECT_EQ(verdict.outcome, Outcome::ok) << verdict.note;
    EXPECT_TRUE(verdict.deterministic);
  }
  EXPECT_EQ(leaders, 1);
}

TEST_F(GpuRace, TheLeaderIsLookedAtAgain) {
  const Program slow = finalist("tiled", kSlow);
  const auto [verdicts, placings] =
      lane_->race({slow, finalist("naive", {}, test::edited_templates({kLaunchCounter, kWrongLater}))});
  EXPECT_EQ(placings[1].standing, Standing::leader);
  EXPECT_EQ(verdicts[1].outcome, Outcome::unstable);
  EXPECT_THAT(verdicts[1].note, HasSubstr("after the race: launch 1 of 16: 1 of 262144 elements beyond the bound"));
  EXPECT_EQ(verdicts[0].outcome, Outcome::ok) << verdicts[0].note;
  EXPECT_EQ(lane_->race({slow}).verdicts[0].outcome, Outcome::ok) << "the other one's fault was left behind";
}

TEST_F(GpuRace, OtherBitsInSixteenLaunchesAreSeen) {
  const Verdict alone = lane_->race({finalist("naive", {}, test::edited_templates({kRoundsByTheClock}))}).verdicts[0];
  EXPECT_EQ(alone.outcome, Outcome::ok) << alone.note;
  EXPECT_FALSE(alone.deterministic);
}

TEST_F(GpuRace, AWorseKernelIsSlowerBeyondDoubt) {
  const auto placings = lane_->race({finalist("tiled", kSlow), finalist("tiled", {})}).placings;
  EXPECT_EQ(placings[0].standing, Standing::slower);
  EXPECT_GT(placings[0].ratio.low, 1.5);
  EXPECT_EQ(placings[1].standing, Standing::leader);
}

TEST_F(GpuRace, ClocksAreReadWhereThereIsNvml) {
  if (!Nvml(device_.uuid).sm_clock_mhz()) GTEST_SKIP() << "NVML does not tell the clock";
  const Program one = finalist("tiled", {});
  const Timing screened = lane_->evaluate(one, 0).timing;
  const Timing raced = lane_->race({one, one}).verdicts[0].timing;
  for (const Timing& timing : {screened, raced}) {
    EXPECT_GT(timing.sm_clock_mhz, 100);
    EXPECT_GT(timing.conditions.memory_clock_mhz, 100);
    EXPECT_GT(timing.conditions.clock_limit_mhz, 100);
    EXPECT_GT(timing.conditions.power_limit_w, 10);
    EXPECT_LE(timing.disturbed, timing.samples);
  }
}

TEST_F(GpuRace, WhatIsClearlySlowerStopsAtTheFirstSample) {
  const Program one = finalist("tiled", {});
  const Verdict first = lane_->evaluate(one, 0);
  ASSERT_EQ(first.outcome, Outcome::ok) << first.note;
  EXPECT_GT(first.timing.samples, 1);
  EXPECT_TRUE(first.deterministic);
  const Verdict late = lane_->evaluate(one, first.timing.median_us / 2);
  EXPECT_EQ(late.outcome, Outcome::too_slow);
  EXPECT_EQ(late.timing.samples, 1);
}

}  // namespace
}  // namespace mmtune
