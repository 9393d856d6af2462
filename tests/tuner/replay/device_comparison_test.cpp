// Two sides of a comparison, made of trials that are told.
#include "tuner/replay/device_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Problem kCompared = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024);

Trial timed_trial(const DeviceSpec& gpu, const char* config, double us, double noise) {
  Trial trial;
  trial.key = {key_of(gpu), kCompared, "tiled", config, "0123456789abcdef0123456789abcdef", Evidence::measured};
  trial.timing.median_us = us;
  trial.timing.min_us = trial.timing.q1_us = us * (1 - noise);
  trial.timing.q3_us = us * (1 + noise);
  trial.timing.samples = trial.timing.calls_per_sample = 1;
  trial.timing.conditions.mode = "graph";
  return trial;
}

/// Times of tiles of 8, 16 and 32.
Side side_of(const char* name, const std::array<double, 3>& times_us, double noise = 0) {
  const Family& family = family_named("tiled");
  Side side{name, catalog_gpu(name), {{kCompared, {}}}};
  const std::array configs{"TILE=8 UNROLL=8", "TILE=16 UNROLL=16", "TILE=32 UNROLL=32"};
  for (std::size_t i = 0; i < configs.size(); ++i) {
    side.problems[0].trials.push_back(
        {{&family, Config::parse(configs[i])}, timed_trial(side.device, configs[i], times_us[i], noise)});
  }
  std::sort(side.problems[0].trials.begin(), side.problems[0].trials.end(),
            [](const auto& x, const auto& y) { return x.trial.timing.median_us < y.trial.timing.median_us; });
  return side;
}

TEST(DeviceComparison, TellsHowAWinnerDoesElsewhere) {
  const Side a = side_of("h200", {300, 100, 200}), b = side_of("a100", {400, 330, 300});
  const auto row = compare_sides(a, b, kCompared).value();
  EXPECT_EQ(key_of(row.winner_a), "tiled TILE=16 UNROLL=16");
  EXPECT_EQ(key_of(row.winner_b), "tiled TILE=32 UNROLL=32");
  EXPECT_EQ(row.a_on_b->time_us, 330);
  EXPECT_EQ(row.verdict(), "+10.0 %");
  EXPECT_EQ(row.common, 3);
  EXPECT_DOUBLE_EQ(row.spearman, 0.5);
  EXPECT_DOUBLE_EQ(row.speed_ratio(), 1.0 / 3);
  EXPECT_NEAR(row.peak_ratio, 19.5 / 66.9, 0.01);
  EXPECT_THAT(row.limit_a, HasSubstr("8 blocks"));
}

TEST(DeviceComparison, TheWinnerIsWhatWasDecided) {
  Side a = side_of("h200", {300, 100, 101});
  Winner winner;
  winner.trial = a.problems[0].trials[1].trial;
  winner.trial.timing.median_us = 99;  // as the race saw it
  a.winners = {winner};
  const Side b = side_of("a100", {400, 330, 300});
  const auto row = compare_sides(a, b, kCompared).value();
  EXPECT_EQ(key_of(row.winner_a), "tiled TILE=32 UNROLL=32");
  EXPECT_EQ(row.time_a.time_us, 99);
  EXPECT_EQ(row.verdict(), "the same");
  a.winners[0].trial.key.evidence = Evidence::predicted;
  EXPECT_EQ(key_of(compare_sides(a, b, kCompared)->winner_a), "tiled TILE=16 UNROLL=16") << "measured times count more";
}

TEST(DeviceComparison, NoiseDecidesNothing) {
  const auto row =
      compare_sides(side_of("h200", {300, 100, 200}), side_of("a100", {400, 330, 300}, 0.06), kCompared).value();
  EXPECT_EQ(row.verdict(), "cannot tell");
}

TEST(DeviceComparison, OneKernelForBothIsSaid) {
  const Side side = side_of("h200", {300, 100, 200});
  EXPECT_EQ(compare_sides(side, side, kCompared)->verdict(), "the same");
  EXPECT_DOUBLE_EQ(compare_sides(side, side, kCompared)->spearman, 1);
}

TEST(DeviceComparison, TheModelStandsInForASideWithoutTrials) {
  const Side a = side_of("h200", {300, 100, 200}), b{"gt740m", catalog_gpu("gt740m"), {}};
  const auto row = compare_sides(a, b, kCompared).value();
  EXPECT_EQ(row.time_b.evidence, Evidence::predicted);
  EXPECT_EQ(row.common, 3);
  EXPECT_GT(row.time_b.time_us, row.time_a.time_us);
  const auto back = compare_sides(b, a, kCompared).value();
  EXPECT_EQ(back.time_a.time_us, row.time_b.time_us);
  EXPECT_FALSE(compare_sides(b, b, kCompared));
}

TEST_F(Cli, CompareTakesDatabasesAndModels) {
  for (const auto& [file, gpu] : {std::pair{"a.db", "h200"}, {"b.db", "a100"}}) {
    Store store = Store::open(path(file), OpenMode::read_write);
    const Side side = side_of(gpu, {300, 100, 200});
    for (const TimedTrial& each : side.problems[0].trials) store.put(each.trial);
    store.put_winner(side.problems[0].trials[0].trial.key, "0123456789abcdef0123456789abcdef", 3);
  }
  const auto two = mmtune("compare '" + path("a.db") + "' '" + path("b.db") + "' --format csv");
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(
      two.out,
      StartsWith("precision,layout,m,n,k,winner_a,time_a_us,source_a,winner_b,time_b_us,source_b,"
                 "a_on_b_us,verdict,limit_a,limit_b,configurations,spearman,speed_ratio,peak_ratio,invariant\n"));
  EXPECT_THAT(two.out, HasSubstr("fp32,nn,1024,1024,1024,tiled TILE=16 UNROLL=16,100.000,measured,"));
  EXPECT_THAT(two.out, HasSubstr(",the same,"));
  const auto model = mmtune("compare '" + path("a.db") + "' model:t4 --size 1024");
  EXPECT_EQ(model.code, 0) << model.err;
  EXPECT_THAT(model.out, HasSubstr("Tesla T4"));
  EXPECT_THAT(model.out, StartsWith("fp32 nn, measured, predicted there\n"));
  EXPECT_EQ(mmtune("compare model:t4 model:a100").code, 4);
  EXPECT_EQ(mmtune("compare model:t4 nowhere.db").code, 5);
}

TEST_F(Cli, CompareOfADatabaseWithNothingToCompareIsNoInternalError) {
  Store::open(path("empty.db"), OpenMode::read_write);
  const auto empty = mmtune("compare '" + path("empty.db") + "' model:t4");
  EXPECT_EQ(empty.code, 4);
  EXPECT_THAT(empty.err, AllOf(HasSubstr("empty.db"), HasSubstr("no winner"), HasSubstr("; run mmtune tune")));
  Store unknown = Store::open(path("unknown.db"), OpenMode::read_write);
  Trial trial = timed_trial(catalog_gpu("h200"), "TILE=16 UNROLL=16", 300, 0);
  trial.key.device.name = "GPU of nobody";
  unknown.put(trial);
  unknown.put_winner(trial.key, "search", 1);
  const auto gpu = mmtune("compare '" + path("unknown.db") + "' model:t4");
  EXPECT_EQ(gpu.code, 4);
  EXPECT_THAT(gpu.err, AllOf(HasSubstr("GPU of nobody"), HasSubstr("not known here")));
}

}  // namespace
}  // namespace mmtune
