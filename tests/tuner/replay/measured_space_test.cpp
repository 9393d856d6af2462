// Files of other autotuners as spaces to search.
#include "tuner/replay/measured_space.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "db/store.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/export/t4_results.h"
#include "tuner/replay/search_curve.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

using Kind = Observation::Kind;

/// A landscape over A, B, C of eight values each, B by name, whose best is at (5, 2, 6); where A and C are both small
/// nothing can run, and where A + C is 9 the restrictions leave nothing.
std::string cache_text() {
  const char* names[] = {"p", "q", "r", "s", "t", "u", "v", "w"};
  std::string entries;
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      for (int c = 0; c < 8; ++c) {
        if (a + c == 9) continue;
        const double far = std::pow(a - 5, 2) + std::pow(b - 2, 2) + std::pow(c - 6, 2);
        const std::string time = a + c < 3 ? "\"RuntimeFailedConfig\"" : fmt::format("{}", 1 + 0.2 * far);
        entries += fmt::format(R"({}"{},{},{}": {{"A": {}, "B": "{}", "C": {}, "time": {}, "times": [1, 2]}})",
                               entries.empty() ? "" : ",\n", a, b, c, 1 << (10 - a), names[b], c * 0.5, time);
      }
    }
  }
  return fmt::format(R"({{"tune_params_keys": ["A", "B", "C"], "device_name": "X", "cache": {{{}}}}})", entries);
}

class MeasuredSpaceFile : public Cli {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  /// What reading it is refused with.
  std::string refusal(const std::string& text) const {
    try {
      read_measured_space(write("bad.json", text));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "read";
  }
};

TEST_F(MeasuredSpaceFile, HasTheCandidatesOfACacheAndNoOther) {
  const MeasuredSpace space = read_measured_space(write("land.json", cache_text()));
  EXPECT_EQ(space.name(), "land");
  EXPECT_EQ(space.size(), 512U - 6 * 8);
  EXPECT_DOUBLE_EQ(space.best_us(), 1000);
  int failed = 0;
  for (const RankedCandidate& each : space.ranked(1000)) {
    failed += space.candidate(each.number).observation.kind == Kind::failed ? 1 : 0;
    EXPECT_EQ(each.expected_us, 0) << "no model";
  }
  EXPECT_EQ(failed, 6 * 8);
  EXPECT_THAT(space.ranked(7), SizeIs(7));
}

TEST_F(MeasuredSpaceFile, NumbersAreInTheirOrderAndNeighboursExist) {
  const MeasuredSpace space = read_measured_space(write("land.json", cache_text()));
  const auto digits = space.describe(0).features.digits;  // A is 1024, the largest, and B and C the first
  EXPECT_EQ(digits, (std::vector<std::uint16_t>{7, 0, 0}));
  std::vector<std::vector<std::uint16_t>> near;
  for (const CandidateNumber each : space.neighbours(0)) near.push_back(space.describe(each).features.digits);
  EXPECT_THAT(near, UnorderedElementsAre(std::vector<std::uint16_t>{6, 0, 0}, std::vector<std::uint16_t>{7, 1, 0},
                                         std::vector<std::uint16_t>{7, 0, 1}, std::vector<std::uint16_t>{6, 1, 0},
                                         std::vector<std::uint16_t>{6, 0, 1}));
}

TEST_F(MeasuredSpaceFile, MayBeCompressed) {
  const gzFile file = gzopen(path("land.json.gz").c_str(), "wb");
  const std::string text = cache_text();
  ASSERT_GT(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), 0);
  gzclose(file);
  EXPECT_EQ(read_measured_space(path("land.json.gz")).size(), 464U);
  EXPECT_EQ(read_measured_space(path("land.json.gz")).name(), "land");
  std::filesystem::resize_file(path("land.json.gz"), std::filesystem::file_size(path("land.json.gz")) / 2);
  EXPECT_THROW(read_measured_space(path("land.json.gz")), UsageError);
}

TEST_F(MeasuredSpaceFile, ResultsInTheT4FormatAreReadToo) {
  const MeasuredSpace space = read_measured_space(write("t4.json", R"({"schema_version": "1.0.0", "results": [
    {"configuration": {"A": 1, "B": true}, "invalidity": "correct", "times": {}, "correctness": 1,
     "measurements": [{"name": "energy", "value": 3, "unit": "J"}, {"name": "time", "value": 0.25, "unit": "ms"}]},
    {"configuration": {"A": 2, "B": true}, "invalidity": "compile", "times": {}, "correctness": 0}]})"));
  ASSERT_EQ(space.size(), 2U);
  EXPECT_EQ(space.best_us(), 250);
  EXPECT_EQ(space.candidate(1).observation.kind, Kind::failed);
}

TEST_F(MeasuredSpaceFile, WhatIsNoMeasuredSpaceIsRefusedWithObjectCauseAndRemedy) {
  EXPECT_THAT(refusal("{"), AllOf(HasSubstr("bad.json"), HasSubstr("no JSON"), HasSubstr("name a file")));
  EXPECT_THAT(refusal("[]"), AllOf(HasSubstr("neither"), HasSubstr("name a cache")));
  EXPECT_THAT(refusal(R"({"cache": {}})"), HasSubstr("tune_params_keys"));
  EXPECT_THAT(refusal(R"({"cache": {}, "tune_params_keys": ["A"]})"), HasSubstr("no configurations"));
  EXPECT_THAT(refusal(R"({"cache": {"k": {"B": 1, "time": 2}}, "tune_params_keys": ["A"]})"),
              AllOf(HasSubstr("entry 'k' has no value for 'A'"), HasSubstr("repair")));
  EXPECT_THAT(refusal(R"({"cache": {"k": {"A": 1}}, "tune_params_keys": ["A"]})"), HasSubstr("has no 'time'"));
  EXPECT_THAT(refusal(R"({"cache": {"k": {"A": 1, "time": "CompilationFailedConfig"}}, "tune_params_keys": ["A"]})"),
              HasSubstr("no configuration has a time"));
  EXPECT_THAT(refusal(R"({"results": [{}]})"), HasSubstr("result 1 has no object 'configuration'"));
  EXPECT_THAT(refusal(R"({"results": [{"configuration": {"A": 1}, "invalidity": "correct"}]})"),
              HasSubstr("no measurement 'time'"));
  EXPECT_THROW(read_measured_space(path("none.json")), UsageError);
  EXPECT_THROW(read_measured_space(path("")), UsageError);
}

TEST_F(MeasuredSpaceFile, ASearchWithoutAModelFindsTheBestSoonerThanChance) {
  const MeasuredSpace space = read_measured_space(write("land.json", cache_text()));
  double guided = 0;
  double random = 0;
  constexpr int kSeeds = 10;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    guided += search_curve(space, "guided", seed, 25).back().share_of_best;
    random += search_curve(space, "random", seed, 25).back().share_of_best;
  }
  EXPECT_GT(guided / kSeeds, 0.95);
  EXPECT_LT(random / kSeeds, 0.8);
}

TEST_F(MeasuredSpaceFile, FailuresAreEvaluationsAndTheCurveNeverFalls) {
  const MeasuredSpace space = read_measured_space(write("land.json", cache_text()));
  const auto points = search_curve(space, "random", 3, 464);
  std::vector<int> places;
  double before = 0;
  for (const CurvePoint& point : points) {
    places.push_back(point.evaluations);
    EXPECT_GE(point.share_of_best, before);
    before = point.share_of_best;
  }
  EXPECT_EQ(places, (std::vector<int>{25, 50, 100, 200, 400, 464}));
  EXPECT_EQ(before, 1) << "all were tried";
  const auto share_after = [&](int evaluations) {
    return search_curve(space, "exhaustive", 1, evaluations).back().share_of_best;
  };
  EXPECT_EQ(share_after(3), 0) << "the first three fail, and count";
  EXPECT_DOUBLE_EQ(share_after(4), space.best_us() / (1000 * (1 + 0.2 * 38))) << "the next is slow, and right";
}

TEST_F(MeasuredSpaceFile, ReplayPrintsTheColumnsThatScriptsRead) {
  write("land.json", cache_text());
  const auto result =
      mmtune(fmt::format("replay --cache '{}' --strategy random,guided --seeds 1..2 --evaluations 60 "
                         "--format csv",
                         path("land.json")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("cache,strategy,seed,evaluations,share_of_best\nland,random,1,25,0."));
  for (const char* row : {"\nland,random,2,50,", "\nland,guided,1,60,", "\nland,guided,2,60,"}) {
    EXPECT_THAT(result.out, HasSubstr(row));
  }
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1 + 2 * 2 * 3);
  EXPECT_EQ(mmtune(fmt::format("replay --cache '{}' --strategy lucky", path("land.json"))).code, 2);
  const auto missing = mmtune(fmt::format("replay --cache '{}'", path("none.json")));
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.json"));
}

Trial tiled_trial(const std::string& config, Outcome outcome, double median_us) {
  Trial trial;
  trial.key = {key_of(catalog_gpu("h200")),
               packed_problem(Precision::fp32, Layout::nn, 512, 512, 512),
               "tiled",
               config,
               "0123456789abcdef0123456789abcdef",
               Evidence::measured};
  trial.outcome = outcome;
  trial.timing.median_us = trial.timing.q1_us = trial.timing.q3_us = trial.timing.min_us = median_us;
  trial.timing.conditions.mode = "graph";
  trial.created = "2021-04-05T06:07:08Z";
  return trial;
}

TEST_F(MeasuredSpaceFile, ExportedTrialsComeBack) {
  {
    Store store = Store::open(path("default.db"), OpenMode::read_write);
    for (const Trial& trial :
         {tiled_trial("TILE=8 UNROLL=1", Outcome::ok, 12.5), tiled_trial("TILE=16 UNROLL=1", Outcome::ok, 10.25),
          tiled_trial("TILE=16 UNROLL=2", Outcome::wrong_result, 3),
          tiled_trial("TILE=32 UNROLL=2", Outcome::too_slow, 90)}) {
      store.put(trial);
    }
  }
  const auto result = mmtune(fmt::format("db export --format t4 '{}'", path("t4.json")));
  ASSERT_EQ(result.code, 0) << result.err;
  const MeasuredSpace space = read_measured_space(path("t4.json"));
  ASSERT_EQ(space.size(), 4U);
  EXPECT_DOUBLE_EQ(space.best_us(), 10.25);
  int right = 0;
  for (const RankedCandidate& each : space.ranked(4)) {
    const auto& [values, observation] = space.candidate(each.number);
    if (observation.kind != Kind::timed) continue;
    ++right;
    EXPECT_EQ(values[1], "1");
    EXPECT_DOUBLE_EQ(observation.time_us, values[0] == "8" ? 12.5 : 10.25);
  }
  EXPECT_EQ(right, 2);
  EXPECT_EQ(mmtune(fmt::format("db export --format t4 '{}'", path("t4.json"))).code, 2) << "it exists";
}

TEST(T4Results, AreOfOneFamilyProblemAndGpu) {
  const auto no_time = [](const Trial&) { return 0.0; };
  Trial other = tiled_trial("TILE=8 UNROLL=1", Outcome::ok, 1);
  other.key.problem = packed_problem(Precision::fp32, Layout::nn, 64, 64, 64);
  EXPECT_THROW(t4_results({}, no_time), UsageError);
  EXPECT_THROW(t4_results({tiled_trial("TILE=8 UNROLL=1", Outcome::ok, 1), other}, no_time), UsageError);
}

TEST(T4Results, SayHowAConfigurationFailedAndTakeTheLatestTrial) {
  Trial later = tiled_trial("TILE=8 UNROLL=1", Outcome::guard_violation, 0);
  later.created = "2022-01-01T00:00:00Z";
  const auto text =
      t4_results({later, tiled_trial("TILE=8 UNROLL=1", Outcome::ok, 1)}, [](const Trial&) { return 7.5; });
  EXPECT_THAT(text, HasSubstr(R"("configuration": {"TILE": 8, "UNROLL": 1})"));
  EXPECT_THAT(text, HasSubstr(R"("invalidity": "correctness", "correctness": 0)"));
  EXPECT_THAT(text, HasSubstr(R"("compilation": 7.5)"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr(R"("invalidity": "correct",)")));
}

}  // namespace
}  // namespace mmtune
