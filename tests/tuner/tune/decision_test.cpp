// Tests of which finalists race and which wins, with a lane whose placings the test invents and a database that is
// real.
#include "tuner/tune/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/db/fixtures.h"
#include "tests/templates/family/settings.h"

namespace mmtune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kTarget = "sm_90a";

/// Places the finalists as told, in the order that they come in; remembers them.
class ToldLane final : public Lane {
 public:
  Evidence evidence() const override { return Evidence::measured; }
  Environment environment() override { return {"580", "13.0", "commit", "GPU"}; }
  void begin(const Problem&, int) override {}
  Verdict evaluate(const Program&, double) override { return {}; }

  RaceResult race(const std::vector<Program>& finalists) override {
    begins();
    RaceResult result;
    for (const Program& each : finalists) {
      raced.push_back(each.candidate.config.text());
      Timing timing;
      timing.median_us = 50;
      timing.samples = 12;
      const bool is_wrong = raced.back() == wrong;
      const bool leads = result.placings.empty();
      const double ratio = leads ? 1 : behind;
      result.placings.push_back({leads ? Standing::leader : rest, {ratio, ratio, ratio}});
      result.verdicts.push_back(
          {is_wrong ? Outcome::unstable : Outcome::ok, is_wrong ? "why" : "", timing, 0, raced.back() != varies});
    }
    return result;
  }

  Standing rest = Standing::tied;
  double behind = 1;          ///< the ratio of the times of the rest over the leader's
  std::string wrong, varies;  ///< configurations that turn out so
  std::vector<std::string> raced;
  std::function<void()> begins = [] {};  ///< what happens when a race begins
};

class Decision : public test::StoreTest {
 protected:
  static Problem square(std::int64_t n) { return packed_problem(Precision::fp32, Layout::nn, n, n, n); }

  /// A right candidate of this time, stored.
  Finalist finalist(const Problem& problem, const Candidate& candidate, double time_us, int registers = 32) {
    Finalist result{preparation_.program(problem, candidate), {}};
    result.trial = preparation_.trial(result.program, ToldLane().environment());
    result.trial.timing.median_us = time_us;
    Binary binary;
    test::set_code(binary, "code of " + result.trial.key.source_hash);
    binary.target = kTarget;
    binary.registers = registers;
    result.trial.binary_hash = binary.hash;
    store_.put(result.trial, &binary);
    return result;
  }

  static std::string settings(int tile) { return fmt::format("TILE={} UNROLL=4", tile); }

  /// The text of tiled()'s configuration.
  static std::string config(int tile) { return test::completed("tiled", settings(tile)).text(); }

  Finalist tiled(const Problem& problem, int tile, double time_us, int registers = 32) {
    const Family& family = family_named("tiled");
    return finalist(problem, {&family, family.complete(Config::parse(settings(tile)), problem, catalog_gpu("h200"))},
                    time_us, registers);
  }

  Finalist fallback(const Problem& problem, double time_us) {
    const Family& family = family_named("naive");
    return finalist(problem, {&family, family.default_config(problem)}, time_us);
  }

  void win(const Finalist& winner) { store_.put_winner(winner.trial.key, "search", 1); }

  /// A configuration of tiled, and how many times as long as the best it takes.
  struct Slower {
    const char* settings;
    double factor;
  };

  /// The configurations that race where these were right and the best takes that time.
  std::vector<std::string> raced(double best_us, const std::vector<Slower>& candidates,
                                 Precision precision = Precision::bf16) {
    const Problem problem = packed_problem(precision, Layout::nn, 512, 512, 512);
    std::vector<Finalist> finalists;
    for (const auto& [settings, factor] : candidates) {
      const Candidate candidate{&family_named("tiled"), test::completed("tiled", settings)};
      finalists.push_back(finalist(problem, candidate, factor * best_us));
    }
    lane_.raced.clear();
    winner(finalists);
    return lane_.raced;
  }

  std::string winner(std::vector<Finalist> finalists) {
    sort_by_time(finalists);
    const Trial& trial = finalists[race(finalists, lane_, store_, kTarget)].trial;
    return trial.key.family + ' ' + trial.key.config.substr(0, trial.key.config.find(' '));
  }

  Preparation preparation_{TemplateFiles::embedded(), catalog_gpu("h200"), CompileTarget{90, true, kTarget},
                           Evidence::measured, "13.0"};
  Store store_ = open();
  ToldLane lane_;
};

TEST_F(Decision, TheFastestWinWhereNothingIsTied) {
  lane_.rest = Standing::slower;
  const Problem problem = square(512);
  EXPECT_EQ(winner({tiled(problem, 8, 101), tiled(problem, 16, 100), tiled(problem, 32, 102)}), "tiled TILE=16");
}

TEST_F(Decision, OnlyThoseNearTheBestAreRaced) {
  const Problem problem = square(512);
  winner({tiled(problem, 8, 120), tiled(problem, 16, 100), tiled(problem, 32, 105)});
  EXPECT_THAT(lane_.raced, ElementsAre(config(16), config(32)));
  lane_.raced.clear();
  EXPECT_EQ(winner({tiled(problem, 8, 120), tiled(problem, 16, 100)}), "tiled TILE=16");
  EXPECT_THAT(lane_.raced, ElementsAre(config(16))) << "nothing to race with, but it is looked at";
}

TEST_F(Decision, MoreOfHeavyCallsAreRacedAndThoseFurtherFromTheBest) {
  const std::vector<Slower> candidates{
      {"TILE=8 UNROLL=1", 1.00},  {"TILE=8 UNROLL=2", 1.01},  {"TILE=8 UNROLL=4", 1.02},  {"TILE=16 UNROLL=1", 1.03},
      {"TILE=16 UNROLL=2", 1.04}, {"TILE=16 UNROLL=4", 1.05}, {"TILE=32 UNROLL=1", 1.06}, {"TILE=32 UNROLL=2", 1.14}};
  EXPECT_EQ(raced(9, candidates).size(), 6) << "those within 6 %, six at most";
  EXPECT_EQ(raced(11, candidates).size(), 8) << "those within 15 %";
  EXPECT_EQ(raced(1000, candidates).size(), 8) << "those within 15 %";
  EXPECT_EQ(raced(14000, candidates).size(), 7) << "as many as a race has time for";
  EXPECT_EQ(raced(30000, candidates).size(), 4) << "fewer would be no race";
}

TEST_F(Decision, OnCudaCoresLongCallsAreRacedAsOthers) {
  const std::vector<Slower> candidates{
      {"TILE=8 UNROLL=1", 1.00},  {"TILE=8 UNROLL=2", 1.01},  {"TILE=8 UNROLL=4", 1.02},  {"TILE=16 UNROLL=1", 1.03},
      {"TILE=16 UNROLL=2", 1.04}, {"TILE=16 UNROLL=4", 1.05}, {"TILE=32 UNROLL=1", 1.06}, {"TILE=32 UNROLL=2", 1.14}};
  EXPECT_EQ(raced(1000, candidates, Precision::fp32).size(), 6);
  EXPECT_EQ(raced(21000, candidates, Precision::fp32).size(), 4) << "as many as a race has time for";
}

TEST_F(Decision, OfHeavyCallsThatAreLaunchedAlikeFourRaceBeforeOthers) {
  const std::vector<Slower> candidates{{"TILE=16 UNROLL=1", 1.000},  {"TILE=16 UNROLL=2", 1.005},
                                       {"TILE=16 UNROLL=4", 1.010},  {"TILE=16 UNROLL=8", 1.015},
                                       {"TILE=16 UNROLL=16", 1.020}, {"TILE=8 UNROLL=1", 1.025},
                                       {"TILE=8 UNROLL=2", 1.030}};
  EXPECT_THAT(raced(16000, candidates), ElementsAre("TILE=16 UNROLL=1", "TILE=16 UNROLL=2", "TILE=16 UNROLL=4",
                                                    "TILE=16 UNROLL=8", "TILE=8 UNROLL=1", "TILE=8 UNROLL=2"));
  EXPECT_THAT(raced(9, candidates), ElementsAre("TILE=16 UNROLL=1", "TILE=16 UNROLL=2", "TILE=16 UNROLL=4",
                                                "TILE=16 UNROLL=8", "TILE=16 UNROLL=16", "TILE=8 UNROLL=1"));
  EXPECT_EQ(raced(100, candidates).size(), 7) << "all that there is time for";
}

TEST_F(Decision, TheStoredOneRacesThoughItsTimeIsFromOtherConditions) {
  const Problem problem = square(512);
  win(tiled(problem, 8, 190));
  lane_.rest = Standing::slower;
  winner({tiled(problem, 8, 190), tiled(problem, 16, 100), tiled(problem, 32, 120)});
  EXPECT_THAT(lane_.raced, ElementsAre("TILE=16 UNROLL=4", "TILE=8 UNROLL=4"));
  lane_.raced.clear();
  winner({tiled(problem, 8, 210), tiled(problem, 16, 100)});
  EXPECT_THAT(lane_.raced, ElementsAre("TILE=16 UNROLL=4")) << "clocks do not explain so much";
}

TEST_F(Decision, TimesOfTheRaceAreStored) {
  const Problem problem = square(512);
  const Finalist one = tiled(problem, 16, 100), two = tiled(problem, 32, 101);
  winner({one, two});
  EXPECT_EQ(store_.find(one.trial.key)->timing.median_us, 50);
  EXPECT_EQ(store_.find(two.trial.key)->timing.samples, 12);
}

TEST_F(Decision, WhatTheRaceShowsOfACandidateIsStored) {
  const Problem problem = square(512);
  std::vector<Finalist> finalists{tiled(problem, 8, 100), tiled(problem, 16, 101), tiled(problem, 32, 102)};
  lane_.wrong = config(8);
  lane_.varies = config(16);
  race(finalists, lane_, store_, kTarget);
  for (const Finalist& each : finalists) {
    const std::string& config = each.trial.key.config;
    const auto stored = store_.find(each.trial.key);
    ASSERT_TRUE(stored) << config;
    for (const Trial& trial : {each.trial, *stored}) {
      EXPECT_EQ(trial.outcome, config == lane_.wrong ? Outcome::unstable : Outcome::ok) << config;
      EXPECT_EQ(trial.note, config == lane_.wrong ? "why" : "") << config;
      EXPECT_EQ(trial.deterministic, config != lane_.varies) << config;
    }
  }
}

TEST_F(Decision, WhatVariedBeforeTheRaceStaysSo) {
  std::vector<Finalist> finalists{tiled(square(512), 8, 100)};
  finalists[0].trial.deterministic = false;
  race(finalists, lane_, store_, kTarget);
  EXPECT_FALSE(finalists[0].trial.deterministic);
}

TEST_F(Decision, TiesGoToTheDefaultThenToTheIncumbent) {
  const Problem problem = square(512);
  win(tiled(problem, 8, 100));
  EXPECT_EQ(winner({tiled(problem, 8, 101), tiled(problem, 16, 100), tiled(problem, 32, 102)}), "tiled TILE=8");
  EXPECT_EQ(winner({tiled(problem, 8, 101), tiled(problem, 16, 100), fallback(problem, 105)}), "naive MAPPING=2");
}

TEST_F(Decision, ADefaultThatStaysFurtherBehindIsVerifiedAgainAlone) {
  const Problem problem = square(512);
  lane_.rest = Standing::undecided;
  lane_.behind = 1.02;
  std::vector<Finalist> finalists{tiled(problem, 16, 100), fallback(problem, 101)};
  lane_.wrong = finalists[1].trial.key.config;
  EXPECT_EQ(race(finalists, lane_, store_, kTarget), 1U);
  EXPECT_THAT(lane_.raced, ElementsAre(config(16), lane_.wrong, lane_.wrong));
  EXPECT_EQ(finalists[1].trial.outcome, Outcome::unstable);
  lane_.raced.clear();
  lane_.behind = 1.005;
  EXPECT_EQ(winner({tiled(problem, 16, 100), fallback(problem, 101)}), "naive MAPPING=2");
  EXPECT_EQ(lane_.raced.size(), 2U) << "the lane has verified all that are as fast";
}

TEST_F(Decision, WhatIsVerifiedAgainAloneIsBlamedAlone) {
  lane_.rest = Standing::undecided;
  lane_.behind = 1.02;
  std::vector<TrialKey> running;
  lane_.begins = [&] {
    if (!lane_.raced.empty()) running = store_.settle(lane_.environment().device_uuid, "a boot after a crash");
  };
  const Finalist standard = fallback(square(512), 101);
  winner({tiled(square(512), 16, 100), standard});
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0].config, standard.trial.key.config);
}

TEST_F(Decision, TiesGoToWhatNeighbouringSizesUse) {
  win(tiled(square(512), 16, 10));
  win(tiled(square(4096), 32, 5000));  // It is too far away.
  win(tiled(square(1536), 8, 500));    // nearer than 512
  const Problem problem = square(1024);
  EXPECT_EQ(winner({tiled(problem, 32, 100, 8), tiled(problem, 16, 101), tiled(problem, 8, 102)}), "tiled TILE=8");
  EXPECT_EQ(winner({tiled(problem, 32, 100, 8), tiled(problem, 16, 101)}), "tiled TILE=16");
}

TEST_F(Decision, ElseTiesGoToTheSmallerFootprint) {
  const Problem problem = square(1024);
  EXPECT_EQ(winner({tiled(problem, 16, 100, 64), tiled(problem, 8, 101, 64)}), "tiled TILE=8");
  EXPECT_EQ(winner({tiled(problem, 16, 100, 32), tiled(problem, 8, 101, 250)}), "tiled TILE=16");
}

TEST_F(Decision, NeighboursAreWithinAFactorOfTwo) {
  std::vector<Winner> winners(4);
  winners[0].trial.key.problem = square(1024);
  winners[1].trial.key.problem = square(500);
  winners[2].trial.key.problem = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 2048);
  winners[3].trial.key.problem = square(1000);
  const auto near = neighbours_of(square(1024), winners);
  ASSERT_EQ(near.size(), 2U);
  EXPECT_EQ(near[0].trial.key.problem.k, 1000);
  EXPECT_EQ(near[1].trial.key.problem.k, 2048);
}

TEST_F(Decision, DefendersAreTheDefaultAndTheIncumbentAsFarAsSearched) {
  const Problem problem = square(512);
  win(tiled(problem, 8, 100));
  const ProblemKey key = tiled(problem, 8, 100).trial.key.problem_key();
  const auto names = [&](const std::vector<const Family*>& families, const Restriction& only) {
    std::vector<std::string> list;
    for (const Candidate& candidate :
         defenders(key, FamilySpaces(families, problem, catalog_gpu("h200"), only), 100, store_)) {
      list.emplace_back(candidate.family->name());
    }
    return list;
  };
  const Family& naive = family_named("naive");
  const Family& other = family_named("tiled");
  EXPECT_THAT(names({&naive, &other}, {}), ElementsAre("naive", "tiled"));
  EXPECT_THAT(names({&other}, {}), ElementsAre("tiled"));
  EXPECT_THAT(names({&other}, {{"TILE", {16}}}), IsEmpty());
}

TEST_F(Decision, AHopelessDefaultThatTakesLongIsNotTimed) {
  const Problem large = square(4096);
  const FamilySpaces spaces({&family_named("naive")}, large, catalog_gpu("h200"));
  const ProblemKey key{key_of(catalog_gpu("h200")), large, Evidence::measured};
  EXPECT_THAT(defenders(key, spaces, 1, store_), IsEmpty());
  EXPECT_EQ(defenders(key, spaces, 1e9, store_).size(), 1U);
}

}  // namespace
}  // namespace mmtune
