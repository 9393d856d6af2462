// Stored times as models are held against, and how good a model is.
#include "tuner/replay/timed_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/inspect/explanation.h"
#include "tuner/replay/model_quality.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

TEST(RankCorrelation, OfOrdersThatAgreeOrNot) {
  const std::array x{1.0, 2.0, 3.0, 4.0};
  EXPECT_DOUBLE_EQ(rank_correlation(x, std::array{10.0, 20.0, 30.0, 1000.0}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(x, std::array{4.0, 3.0, 2.0, 1.0}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation(x, std::array{2.0, 1.0, 4.0, 3.0}), 0.6);
  EXPECT_TRUE(std::isnan(rank_correlation(x, std::array{1.0, 1.0, 1.0, 1.0})));
}

TEST(RankCorrelation, EqualValuesShareTheirRank) {
  EXPECT_NEAR(rank_correlation(std::array{1.0, 1.0, 2.0}, std::array{1.0, 2.0, 3.0}), 0.866025, 1e-6);
}

const DeviceSpec& tuned_gpu() { return catalog_gpu("h200"); }

Trial trial_of(const Problem& problem, const char* family, const char* config, double us) {
  Trial trial;
  trial.key = {key_of(tuned_gpu()), problem, family, config, "0123456789abcdef0123456789abcdef", Evidence::measured};
  trial.timing.median_us = trial.timing.q1_us = trial.timing.q3_us = trial.timing.min_us = us;
  trial.timing.samples = trial.timing.calls_per_sample = 1;
  trial.timing.conditions.mode = "graph";
  return trial;
}

class TimedTrials : public Cli {
 protected:
  Problem problem_ = packed_problem(Precision::fp32, Layout::nn, 512, 512, 512);
};

TEST_F(TimedTrials, AreTheLatestOfEachConfigurationFastestFirst) {
  Store store = Store::open(path("a.db"), OpenMode::read_write);
  Trial old = trial_of(problem_, "tiled", "TILE=16 UNROLL=16", 10);
  old.created = "2026-01-01T00:00:00Z";
  Trial later = trial_of(problem_, "tiled", "TILE=16 UNROLL=16", 30);
  later.key.source_hash[0] = '1';
  later.created = "2026-02-01T00:00:00Z";
  Trial predicted = trial_of(problem_, "tiled", "TILE=8 UNROLL=8", 5);
  predicted.key.evidence = Evidence::predicted;
  Trial failed = trial_of(problem_, "tiled", "TILE=4 UNROLL=4", 0);
  failed.outcome = Outcome::compile_failed;
  failed.timing = {};
  Trial slow = trial_of(problem_, "tiled", "TILE=2 UNROLL=2", 20);
  slow.outcome = Outcome::too_slow;
  Trial unknown = trial_of(problem_, "gone", "TILE=2", 1);
  for (const Trial& each : {old, later, predicted, failed, slow, unknown}) store.put(each);
  store.put(trial_of(packed_problem(Precision::fp32, Layout::nn, 64, 64, 64), "tiled", "TILE=2 UNROLL=2", 3));
  const auto problems = timed_problems(store, key_of(tuned_gpu()));
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].problem.m, 64);
  ASSERT_EQ(problems[1].trials.size(), 2u);
  EXPECT_EQ(problems[1].trials[0].trial.timing.median_us, 20) << "too slow, and so no winner";
  EXPECT_EQ(problems[1].best()->trial.timing.median_us, 30) << "the later of two sources";
  EXPECT_TRUE(timed_problems(store, key_of(catalog_gpu("t4"))).empty());
}

TEST_F(TimedTrials, AModelThatKnowsTheTimesLosesNothing) {
  const Family& family = family_named("tiled");
  TimedProblem timed{problem_, {}};
  for (const char* config : {"TILE=32 UNROLL=32", "TILE=16 UNROLL=16", "TILE=8 UNROLL=8", "TILE=4 UNROLL=4"}) {
    const Candidate candidate{&family, Config::parse(config)};
    const double us = predict(problem_, family.plan(problem_, candidate.config, tuned_gpu()), tuned_gpu(), 0).time_us;
    timed.trials.push_back({candidate, trial_of(problem_, "tiled", config, us)});
  }
  const ModelQuality right = quality_of(timed, tuned_gpu());
  EXPECT_EQ(right.configurations, 4);
  EXPECT_DOUBLE_EQ(right.spearman, 1);
  EXPECT_EQ(right.loss_first, 0);
  // What it expects most of takes twice as long as the next.
  auto first = std::min_element(timed.trials.begin(), timed.trials.end(), [](const auto& x, const auto& y) {
    return x.trial.timing.median_us < y.trial.timing.median_us;
  });
  double next_us = 1e300;
  for (const auto& each : timed.trials) {
    if (&each != &*first) next_us = std::min(next_us, each.trial.timing.median_us);
  }
  first->trial.timing.median_us = 2 * next_us;
  std::sort(timed.trials.begin(), timed.trials.end(),
            [](const auto& x, const auto& y) { return x.trial.timing.median_us < y.trial.timing.median_us; });
  const ModelQuality wrong = quality_of(timed, tuned_gpu());
  EXPECT_LT(wrong.spearman, 1);
  EXPECT_DOUBLE_EQ(wrong.loss_first, 1);
  EXPECT_EQ(wrong.loss_best_of_8, 0) << "all four are among the eight";
  EXPECT_EQ(quality_table({}, Format::csv).text(Format::csv),
            "precision,m,n,k,configurations,spearman,loss_first,loss_best_of_8\n");
}

TEST_F(TimedTrials, AreShownByWhatBecameOfThem) {
  {
    Store store = Store::open(path("default.db"), OpenMode::read_write);
    store.put(trial_of(problem_, "tiled", "TILE=8 UNROLL=8", 50));
    store.put(trial_of(problem_, "tiled", "TILE=16 UNROLL=16", 20));
    store.put(trial_of(problem_, "naive", "MAPPING=2 BX=32 BY=8 COARSE=1 UNROLL=4", 30));
    Trial failed = trial_of(problem_, "tiled", "TILE=4 UNROLL=4", 0);
    failed.outcome = Outcome::wrong_result;
    failed.timing = {};
    failed.note = "C[0,1] is NaN";
    store.put(failed);
  }
  const auto all = mmtune("show --trials --format csv");
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 5);
  EXPECT_LT(all.out.find("TILE=16 "), all.out.find("TILE=8 ")) << "fastest first";
  EXPECT_THAT(all.out, HasSubstr("wrong_result,,,"));
  const auto some = mmtune("show --trials --sizes 512 --family naive --format csv");
  EXPECT_EQ(std::count(some.out.begin(), some.out.end(), '\n'), 2);
  EXPECT_EQ(mmtune("show --trials --sizes 513 --format csv").out, some.out.substr(0, some.out.find('\n') + 1));
  const auto quality = mmtune("model --device model:h200 --least 2 --format csv");
  EXPECT_EQ(quality.code, 0) << quality.err;
  EXPECT_THAT(quality.out, HasSubstr("fp32,512,512,512,3,"));
  const auto why = mmtune("explain --size 512 --device model:h200 --family tiled --config \"TILE=16 UNROLL=16\"");
  EXPECT_EQ(why.code, 0) << why.err;
  for (const auto* text : {"20.00 µs", "measured", "floor: arithmetic", "4.01 µs", "bottleneck", "occupancy", "waves",
                           "30.00 µs (+50.0 %)", "naive MAPPING=2"}) {
    EXPECT_THAT(why.out, HasSubstr(text));
  }
  const auto slow = mmtune(
      "explain --size 512 --device model:h200 --family naive --config \"MAPPING=2 BX=32 BY=8 COARSE=1 UNROLL=4\"");
  EXPECT_THAT(slow.out, HasSubstr("20.00 µs (-33.3 %)")) << "the other candidate is faster";
}

TEST(Explanation, SaysWhatDiffers) {
  const Family& tiled = family_named("tiled");
  EXPECT_EQ(difference({&tiled, Config::parse("TILE=16 UNROLL=16")}, {&tiled, Config::parse("TILE=16 UNROLL=8")}),
            "UNROLL 16 -> 8");
}

}  // namespace
}  // namespace mmtune
