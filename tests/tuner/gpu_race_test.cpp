// The lane of a GPU times finalists against each other and says under which conditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/nvml.h"
#include "templates/families.h"
#include "tests/runtime/support.h"
#include "tests/tuner/edited_kernel.h"
#include "tuner/lanes/lane.h"
#include "tuner/tune/candidate.h"

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
    device_ = {query_device(0), 0};
    target_ = compile_target(device_.spec, nvrtc_->supported());
    lane_ = make_gpu_lane(device_, *nvrtc_, target_);
    lane_->begin(problem_);
  }

  Contender contender(std::string_view family, const Config& config,
                      const TemplateFiles& files = TemplateFiles::embedded()) const {
    const Preparation preparation(files, device_.spec, target_, Evidence::measured, nvrtc_->version());
    const Family& found = family_named(family);
    const Attempt attempt = preparation.attempt(problem_, {&found, found.complete(config, problem_), 0});
    return {attempt.candidate,
            preparation.binary(nvrtc_->compile(attempt.candidate.source, preparation.files(), target_))};
  }

  const Config kSlow{{{"TILE", 2}, {"UNROLL", 1}}};
  test::EditedKernel edited_;
  Problem problem_ = packed_problem(Precision::fp32, Layout::nn, 512, 512, 512);
  DeviceChoice device_;
  CompileTarget target_;
  std::unique_ptr<Lane> lane_;
};

TEST_F(GpuRace, AKernelTiesWithItself) {
  const Contender one = contender("tiled", {});
  const auto finishes = lane_->race({one, one, one});
  ASSERT_EQ(finishes.size(), 3U);
  int leaders = 0;
  for (const Finish& finish : finishes) {
    leaders += finish.placing.standing == Standing::leader ? 1 : 0;
    EXPECT_NE(finish.placing.standing, Standing::slower);
    EXPECT_GE(finish.timing.samples, 12);
    EXPECT_EQ(finish.timing.mode, "graph");
    EXPECT_EQ(finish.outcome, Outcome::ok) << finish.note;
    EXPECT_TRUE(finish.deterministic);
  }
  EXPECT_EQ(leaders, 1);
}

TEST_F(GpuRace, TheLeaderIsLookedAtAgain) {
  const Contender slow = contender("tiled", kSlow);
  const auto finishes = lane_->race({slow, contender("naive", {}, edited_.with({kLaunchCounter, kWrongLater}))});
  EXPECT_EQ(finishes[1].placing.standing, Standing::leader);
  EXPECT_EQ(finishes[1].outcome, Outcome::unstable);
  EXPECT_THAT(finishes[1].note, HasSubstr("after the race: launch 1 of 16: 1 of 262144 elements beyond the bound"));
  EXPECT_EQ(finishes[0].outcome, Outcome::ok) << finishes[0].note;
  EXPECT_EQ(lane_->race({slow})[0].outcome, Outcome::ok) << "the other one's fault was left behind";
}

TEST_F(GpuRace, OtherBitsInSixteenLaunchesAreSeen) {
  const Finish alone = lane_->race({contender("naive", {}, edited_.with({kRoundsByTheClock}))})[0];
  EXPECT_EQ(alone.outcome, Outcome::ok) << alone.note;
  EXPECT_FALSE(alone.deterministic);
}

TEST_F(GpuRace, AWorseKernelIsSlowerBeyondDoubt) {
  const auto finishes = lane_->race({contender("tiled", kSlow), contender("tiled", {})});
  EXPECT_EQ(finishes[0].placing.standing, Standing::slower);
  EXPECT_GT(finishes[0].placing.ratio.low, 1.5);
  EXPECT_EQ(finishes[1].placing.standing, Standing::leader);
}

TEST_F(GpuRace, ClocksAreReadWhereThereIsNvml) {
  if (!Nvml(device_.spec.uuid).sm_clock_mhz()) GTEST_SKIP() << "NVML does not tell the clock";
  const Contender one = contender("tiled", {});
  const Timing screened = lane_->evaluate(one.candidate, one.binary, 0).timing;
  const Timing raced = lane_->race({one, one})[0].timing;
  for (const Timing& timing : {screened, raced}) {
    EXPECT_GT(timing.sm_clock_mhz, 100);
    EXPECT_GT(timing.memory_clock_mhz, 100);
    EXPECT_GT(timing.clock_limit_mhz, 100);
    EXPECT_GT(timing.power_limit_w, 10);
    EXPECT_LE(timing.disturbed, timing.samples);
  }
}

TEST_F(GpuRace, WhoIsClearlySlowerStopsAtTheFirstSample) {
  const Contender one = contender("tiled", {});
  const Evaluation first = lane_->evaluate(one.candidate, one.binary, 0);
  ASSERT_EQ(first.outcome, Outcome::ok) << first.note;
  EXPECT_GT(first.timing.samples, 1);
  EXPECT_TRUE(first.deterministic);
  const Evaluation late = lane_->evaluate(one.candidate, one.binary, first.timing.median_us / 2);
  EXPECT_EQ(late.outcome, Outcome::too_slow);
  EXPECT_EQ(late.timing.samples, 1);
}

}  // namespace
}  // namespace mmtune
