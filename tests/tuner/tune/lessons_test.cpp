// What a search learns from another problem's trials, with a database that is real.
#include "tuner/tune/lessons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/db/fixtures.h"
#include "tests/templates/family/settings.h"

namespace mmtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

Problem square(std::int64_t n) { return packed_problem(Precision::fp32, Layout::nn, n, n, n); }

class Lessons : public test::StoreTest {
 protected:
  ProblemKey key(const Problem& problem) const { return {key_of(catalog_gpu("h200")), problem, Evidence::measured}; }

  static std::string settings(int tile, int unroll) { return fmt::format("TILE={} UNROLL={}", tile, unroll); }

  static std::string config(int tile, int unroll) { return test::completed("tiled", settings(tile, unroll)).text(); }

  Trial trial(const Problem& problem, int tile, int unroll, double time_us) const {
    const Family& family = family_named("tiled");
    const Program program = preparation_.program(problem, {&family, test::completed("tiled", settings(tile, unroll))});
    Trial trial = preparation_.trial(program, {"580", "13.0", "commit", "GPU"});
    trial.outcome = Outcome::ok;
    trial.timing.median_us = trial.timing.q1_us = trial.timing.q3_us = trial.timing.min_us = time_us;
    trial.timing.samples = 5;
    trial.timing.conditions.mode = "graph";
    return trial;
  }

  void decide(const Problem& problem, int tile) {
    const Trial winner = trial(problem, tile, 1, 10);
    store_.put(winner);
    store_.put_winner(winner.key, "search", 1);
  }

  static std::vector<std::string> configs(const std::vector<Trial>& trials) {
    std::vector<std::string> texts;
    for (const Trial& trial : trials) texts.push_back(trial.key.config);
    return texts;
  }

  std::vector<Lesson> lessons(const Problem& problem) {
    return nearest_stored(key(problem), comparable_winners(key(problem), store_), preparation_, store_);
  }

  static std::vector<std::uint16_t> digits(const Problem& problem, int tile) {
    const Config config = test::completed("tiled", settings(tile, 1));
    return describe({&family_named("tiled"), config}, problem, catalog_gpu("h200")).features.digits;
  }

  Store store_ = open();
  Preparation preparation_{TemplateFiles::embedded(), catalog_gpu("h200"), CompileTarget{90, true, "sm_90a"},
                           Evidence::measured, "13.0"};
};

std::vector<Candidate> proven_for(const Problem& problem, std::string_view restriction = "") {
  const std::vector<const Family*> families{&family_named("tiled"), &family_named("simt")};
  const FamilySpaces spaces(families, problem, catalog_gpu("h200"), parse_restriction(restriction));
  std::vector<Candidate> candidates;
  for (const CandidateNumber each : proven(spaces)) candidates.push_back(spaces.candidate(each));
  return candidates;
}

TEST(ProvenHere, TheNearestProblemsAreFirst) {
  const Family& simt = family_named("simt");
  const auto rows = simt.proven();
  const auto of_problem = [&](const Candidate& candidate, std::int64_t extent) {
    return std::any_of(rows.begin(), rows.end(), [&](const Proven& row) {
      return row.m == extent && row.n == extent && row.k == extent &&
             simt.with_defaults(Config::parse(row.config), square(extent)) == candidate.config;
    });
  };
  EXPECT_TRUE(of_problem(proven_for(square(2048)).at(0), 2048));
  EXPECT_TRUE(of_problem(proven_for(square(4096)).at(0), 4096));
  EXPECT_TRUE(of_problem(proven_for(square(1920)).at(0), 2048));
}

TEST(ProvenHere, IsOfThePrecisionAndMayBeSearched) {
  EXPECT_THAT(proven_for(square(512), "BM=999"), IsEmpty());
  const auto tiles = proven_for(square(512), "BM=32");
  EXPECT_FALSE(tiles.empty());
  for (const Candidate& candidate : tiles) EXPECT_EQ(*candidate.config.find("BM"), 32);
  std::size_t rows = 0;
  for (const Proven& row : family_named("simt").proven()) rows += row.precision == Precision::fp64 ? 1 : 0;
  const auto doubles = proven_for(packed_problem(Precision::fp64, Layout::nn, 1000, 1000, 1000));
  EXPECT_FALSE(doubles.empty());
  EXPECT_LE(doubles.size(), rows);
}

TEST(ProvenHere, WhatWonInBf16IsProvenInAllPrecisionsOf16Bits) {
  const auto settings = [](Precision precision) {
    const Problem problem = packed_problem(precision, Layout::nt, 1920, 2048, 2048);
    const FamilySpaces spaces({&family_named("wgmma")}, problem, catalog_gpu("h200"));
    std::set<std::string> texts;
    for (const CandidateNumber each : proven(spaces, {}, 10)) texts.insert(spaces.candidate(each).config.text());
    return texts;
  };
  const auto bf16 = settings(Precision::bf16);
  EXPECT_EQ(bf16.size(), 10u);
  EXPECT_EQ(settings(Precision::fp16), bf16);
  EXPECT_EQ(settings(Precision::fp16_fp32), bf16);
  EXPECT_NE(settings(Precision::e4m3_bf16), bf16);
}

TEST(ProvenHere, WhatWonFor16BitsFollowsWhereElementsHave8AndTheOtherWayRound) {
  const auto of = [](Precision precision, std::string_view family) {
    const Problem problem = packed_problem(precision, Layout::nt, 2048, 2048, 2048);
    const FamilySpaces spaces({&family_named(family)}, problem, catalog_gpu("h200"));
    return std::pair(proven(spaces, {}, 1000), proven_in_all_widths(spaces));
  };
  for (const Precision precision : {Precision::bf16, Precision::e4m3_bf16}) {
    const auto [own, all] = of(precision, "wgmma");
    ASSERT_GT(all.size(), own.size());
    EXPECT_TRUE(std::equal(own.begin(), own.end(), all.begin()));
  }
  const auto [fp8, wide] = of(Precision::e4m3_bf16, "wgmma");
  EXPECT_GT(wide.size(), 2 * fp8.size());
  for (const Precision precision : {Precision::fp32, Precision::fp32_emulated, Precision::int8}) {
    for (const Family* family : families()) {
      const auto [own, all] = of(precision, family->name());
      EXPECT_EQ(all, own) << family->name();
    }
  }
}

TEST(ProvenHere, WhatWonForOtherSizesHasAnotherSplit) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 3650, 185, 6800);
  const FamilySpaces spaces({&family_named("simt")}, problem, catalog_gpu("h200"));
  // 522 blocks, three for each of 174 tiles, fill the 528 places that four blocks an SM are on an H200.
  const std::string tile =
      "BM=64 BN=64 BK=16 TM=8 TN=8 LANES_N=8 LOAD=1 STAGES=2 UNROLL=16 ORDER=2 GROUP=8 MIN_BLOCKS=4";
  Winner winner;
  winner.trial.key = {{}, square(512),       "simt", test::completed("simt", tile + " SPLIT=1").text(),
                      "", Evidence::measured};
  const auto texts = [&](const std::vector<CandidateNumber>& numbers) {
    std::vector<std::string> found;
    for (const CandidateNumber each : numbers) found.push_back(spaces.candidate(each).config.text());
    return found;
  };
  const std::string fitted = test::completed("simt", tile + " SPLIT=3").text();
  EXPECT_THAT(texts(proven(spaces)), Not(Contains(fitted)));
  EXPECT_THAT(texts(proven(spaces, {winner})), Contains(fitted));
}

TEST_F(Lessons, WhatIsDecidedForTheNearestProblemsIsProvenFirst) {
  decide(square(900), 8);
  decide(square(300), 16);
  const FamilySpaces spaces({&family_named("tiled"), &family_named("simt")}, square(950), catalog_gpu("h200"));
  const auto numbers = proven(spaces, comparable_winners(key(square(950)), store_));
  ASSERT_GT(numbers.size(), 2U);
  EXPECT_EQ(spaces.candidate(numbers.front()).config.text(), config(8, 1));
}

TEST_F(Lessons, TheFastestStoredAreRightAndOfTheSameSource) {
  const Problem problem = square(512);
  for (const int tile : {8, 16, 32}) store_.put(trial(problem, tile, 1, 100 - tile));
  for (const int tile : {8, 16, 32}) store_.put(trial(problem, tile, 4, 200 - tile));
  Trial wrong = trial(problem, 32, 2, 1);
  wrong.outcome = Outcome::wrong_result;
  store_.put(wrong);
  Trial edited = trial(problem, 16, 2, 1);
  edited.key.source_hash = "another";
  store_.put(edited);

  const auto found = fastest_stored(key(problem), preparation_, store_, 5);
  EXPECT_THAT(configs(found), ElementsAre(config(32, 1), config(16, 1), config(8, 1), config(32, 4), config(16, 4)));
  EXPECT_EQ(found.front().timing.median_us, 68);
}

TEST_F(Lessons, ComeFromTheNearestDecidedProblem) {
  EXPECT_THAT(lessons(square(512)), IsEmpty());
  decide(square(128), 8);
  decide(square(256), 16);
  decide(square(1200), 32);
  store_.put(trial(square(500), 8, 1, 10));  // near, but not decided
  const auto found = lessons(square(512));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].candidate.features.group, "tiled");
  EXPECT_EQ(found[0].candidate.features.digits, digits(square(256), 16));
  EXPECT_GT(found[0].candidate.expected_us, 0);
  EXPECT_EQ(found[0].time_us, 10);
  const auto others = lessons(square(256));
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(others[0].candidate.features.digits, digits(square(128), 8)) << "its own decision is none";
}

TEST(NearestProblem, IsOneThatTheSameProgramsServe) {
  Problem transposed = square(512);
  transposed.layout = Layout::tn;
  Problem misaligned = square(512);
  misaligned.align.a = 4;
  const std::vector<Problem> others{transposed, misaligned, square(512), square(1024), square(4096), square(256)};
  EXPECT_EQ(nearest(square(512), others), 5U) << "the later one of two that are equally near";
  EXPECT_EQ(nearest(square(8192), others), 4U);
  EXPECT_EQ(nearest(square(512), {square(512), transposed}), std::nullopt);
}

TEST(NearestProblem, CountsOctavesOfTheExtentThatDiffersMost) {
  const Problem deep = packed_problem(Precision::fp32, Layout::nn, 512, 1024, 4096);
  EXPECT_DOUBLE_EQ(octaves_apart(square(512), deep), 3);
  EXPECT_DOUBLE_EQ(octaves_apart(deep, square(512)), 3);
  const Problem empty = packed_problem(Precision::fp32, Layout::nn, 0, 512, 512);
  EXPECT_DOUBLE_EQ(octaves_apart(empty, empty), 0);
  EXPECT_DOUBLE_EQ(octaves_apart(empty, square(512)), 9);
}

}  // namespace
}  // namespace mmtune
