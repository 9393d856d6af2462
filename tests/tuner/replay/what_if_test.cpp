// Whole searches told from a database that is real: no GPU, no compiler.
#include "tuner/replay/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "db/store.h"
#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/db/samples.h"
#include "tests/templates/family/settings.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/tune/family_spaces.h"

namespace mmtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Problem kProblem = packed_problem(Precision::fp32, Layout::nn, 256, 256, 256);

Trial candidate_trial(const Candidate& candidate, double median_us) {
  Trial trial;
  trial.key = {key_of(catalog_gpu("h200")),           kProblem,
               std::string(candidate.family->name()), candidate.config.text(),
               "0123456789abcdef0123456789abcdef",    Evidence::measured};
  trial.timing = {median_us, median_us, median_us, median_us, 4, 1000, 0, 0, 0, {.mode = "graph"}};
  trial.created = "2021-04-05T06:07:08Z";
  return trial;
}

std::vector<Candidate> tiled_candidates() {
  const Family& family = family_named("tiled");
  std::vector<Candidate> candidates;
  for (const Config& config : SearchSpace(family, kProblem, catalog_gpu("h200")).all()) {
    candidates.push_back({&family, config});
  }
  return candidates;
}

/// A database with trials of every tiled configuration for one problem.
class WhatIfTest : public Cli {
 protected:
  WhatIfTest() {
    Store store = Store::open(path("default.db"), OpenMode::read_write);
    std::vector<Trial> trials;
    std::vector<Binary> binaries;
    const auto candidates = tiled_candidates();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      Trial trial = candidate_trial(candidates[i], 100 + static_cast<double>(i));
      Binary binary;
      test::set_code(binary, fmt::format("code {}", i));
      trial.binary_hash = binary.hash;
      trial.key.source_hash = fmt::format("{:032x}", 100 + i);
      binary.target = "sm_90a";
      binary.registers = 32;
      binary.compile_ms = 1000;
      trials.push_back(trial);
      binaries.push_back(binary);
      // What an older kernel took, and what the model says: neither counts.
      trial.key.source_hash = fmt::format("{:032x}", 200 + i);
      trial.created = "2020-01-01T00:00:00Z";
      trial.timing.median_us = 1;
      trials.push_back(trial);
      trial.key.evidence = Evidence::predicted;
      trials.push_back(trial);
    }
    store.put(trials, binaries);
    known_ = static_cast<int>(candidates.size());
  }

  SessionOptions options(const std::string& strategy) const {
    SessionOptions options;
    options.devices = {{catalog_gpu("h200"), -1}};
    options.problems = {kProblem};
    options.database = path("default.db");
    options.families = {"tiled"};
    options.strategy = strategy;
    options.jobs = 4;
    return options;
  }

  int known_ = 0;
};

TEST_F(WhatIfTest, ExhaustiveFindsTheBestStoredTrial) {
  const auto replays = what_if(options("exhaustive"), {1});
  ASSERT_EQ(replays.size(), 1U);
  const auto& [problem, seed, done, stored_best_us, stored] = replays[0];
  EXPECT_EQ(done.unknown, 0);
  EXPECT_EQ(stored, known_);
  EXPECT_EQ(stored_best_us, 100);
  ASSERT_EQ(done.steps.size(), static_cast<std::size_t>(known_));
  EXPECT_EQ(done.steps.back().best_us, 100);
  double sampling_s = 0;
  for (int i = 0; i < known_; ++i) sampling_s += (100 + i) * 1e-6 * 5 * 1000;
  EXPECT_NEAR(done.steps.back().seconds, known_ * 1.0 / 4 + sampling_s, 1e-9);
}

TEST_F(WhatIfTest, SourcesCompileOnceForAllProblems) {
  auto twice = options("exhaustive");
  twice.problems = {kProblem, kProblem};
  const auto replays = what_if(twice, {1, 2});
  ASSERT_EQ(replays.size(), 4U);
  EXPECT_NEAR(replays[0].replay.steps.back().seconds - replays[1].replay.steps.back().seconds, known_ * 1.0 / 4, 1e-9);
  EXPECT_EQ(replays[2].replay.steps.back().seconds, replays[0].replay.steps.back().seconds) << "each seed starts again";
}

TEST_F(WhatIfTest, OnlyRestrictsWhatCountsAsStored) {
  auto few = options("exhaustive");
  few.only = parse_restriction("TILE=16 " + test::others_at_default("tiled", {"TILE", "UNROLL"}));
  const WhatIf done = what_if(few, {1}).front();
  EXPECT_EQ(done.stored, 5);
  EXPECT_EQ(done.replay.steps.size(), 5U);
}

TEST_F(WhatIfTest, PrintsTheColumnsThatScriptsRead) {
  const auto arguments = "tune --what-if --device model:h200 --sizes 256 --family tiled --jobs 4 --format csv ";
  const auto result = mmtune(arguments + fmt::format("--strategy random --seeds 3..4 --curve '{}'", path("curve.csv")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              ::testing::StartsWith(fmt::format("strategy,seed,precision,m,n,k,trials,seconds,best_us,exhaustive_us,"
                                                "exhaustive_trials\nrandom,3,fp32,256,256,256,{},",
                                                known_)));
  EXPECT_THAT(result.out, HasSubstr(fmt::format("\nrandom,4,fp32,256,256,256,{},", known_)));
  EXPECT_THAT(result.out, HasSubstr(fmt::format(",100.000,100.000,{}\n", known_)));
  const auto curve = content(path("curve.csv"));
  EXPECT_THAT(curve, ::testing::StartsWith("strategy,seed,precision,m,n,k,trials,seconds,best_us\nrandom,3,fp32,"));
  for (const int seed : {3, 4}) {
    EXPECT_THAT(curve, HasSubstr(fmt::format("\nrandom,{},fp32,256,256,256,{},", seed, known_)));
  }
}

TEST(CurveTable, HasARowWhereTheBestImprovesAndAtBothEnds) {
  WhatIf each;
  each.problem = kProblem;
  for (const double best : {0.0, 0.0, 9.0, 9.0, 7.0, 7.0, 7.0}) each.replay.steps.push_back({1, best});
  const std::string text = curve_table({each}, "random").text(Format::csv);
  std::vector<std::string> trials;
  std::istringstream lines(text.substr(text.find('\n') + 1));
  for (std::string line; std::getline(lines, line);) trials.push_back(line.substr(line.find("256,256,256,") + 12, 1));
  EXPECT_THAT(trials, ElementsAre("1", "3", "5", "7"));
}

TEST_F(WhatIfTest, SaysWhatTheDatabaseLacks) {
  const auto result = mmtune("tune --what-if --device model:h200 --sizes 512 --family tiled --strategy exhaustive");
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("512x512x512"));
  EXPECT_THAT(result.err, HasSubstr(fmt::format("{} proposals", known_)));
}

TEST_F(WhatIfTest, SaysWhereNothingThatIsStoredWasProposed) {
  const auto result =
      mmtune("tune --what-if --device model:h200 --sizes 256 --effort quick --strategy random --seeds 7");
  EXPECT_EQ(result.code, 4) << result.out;
  EXPECT_THAT(result.err, HasSubstr("256x256x256, seed 7: no right trial that is stored was proposed"));
}

}  // namespace
}  // namespace mmtune
