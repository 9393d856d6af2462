// The tuner survives its candidates: whatever one of them does to its process costs that one candidate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/tuner/faults_fixture.h"

namespace mmtune::test {
namespace {

using testing::HasSubstr;

std::string tiled(const char* settings) { return candidate_text("tiled", settings); }

class Survival : public FaultsTest {
 protected:
  /// Every candidate has a trial: as listed, else ok.
  void expect_outcomes(const std::map<std::string, std::string>& expected) const {
    const auto found = outcomes();
    EXPECT_EQ(found.size(), candidates());
    for (const auto& [candidate, outcome] : found) {
      const auto listed = expected.find(candidate);
      EXPECT_EQ(outcome, listed == expected.end() ? "ok" : listed->second) << candidate;
    }
    for (const auto& [candidate, outcome] : expected) EXPECT_TRUE(found.contains(candidate)) << candidate;
  }

  void expect_winner_without_fault() const {
    std::string best;
    for (const auto& [candidate, outcome] : outcomes()) {
      if (outcome == "ok" && (best.empty() || pretended_us(candidate) < pretended_us(best))) best = candidate;
    }
    const auto winners = Store::open(path("test.db"), OpenMode::read_only).winners();
    ASSERT_EQ(winners.size(), 1u);
    EXPECT_EQ(name_of(winners[0].trial), best);
  }
};

/// A fault, where it is put and what the candidate's outcome is then.
struct PlacedFault {
  std::string fault, settings, outcome;
};

std::string text_of(const std::vector<PlacedFault>& faults) {
  std::string text;
  for (const PlacedFault& each : faults) text += each.fault + '@' + tiled(each.settings.c_str()) + ';';
  return text;
}

std::map<std::string, std::string> outcomes_of(const std::vector<PlacedFault>& faults) {
  std::map<std::string, std::string> outcomes;
  for (const PlacedFault& each : faults) outcomes[tiled(each.settings.c_str())] = each.outcome;
  return outcomes;
}

TEST_F(Survival, WhatACandidateDoesToItsWorkerCostsThatCandidate) {
  const std::vector<PlacedFault> faults{
      {"hang", "TILE=8 UNROLL=1", "timed_out"},         {"abort", "TILE=8 UNROLL=2", "crashed"},
      {"segfault", "TILE=8 UNROLL=4", "crashed"},       {"exit", "TILE=8 UNROLL=8", "crashed"},
      {"garbage", "TILE=16 UNROLL=1", "crashed"},       {"deep", "TILE=16 UNROLL=2", "crashed"},
      {"endless", "TILE=16 UNROLL=4", "crashed"},       {"wrong", "TILE=16 UNROLL=8", "crashed"},
      {"lost", "TILE=16 UNROLL=16", "crashed"},         {"memory", "TILE=32 UNROLL=1", "launch_failed"},
      {"refused", "TILE=32 UNROLL=2", "launch_failed"}, {"late_nan", "TILE=32 UNROLL=4", "crashed"}};
  const auto summary = run(options(), text_of(faults));
  EXPECT_EQ(summary.tuned, 1);
  EXPECT_EQ(summary.failed, 0);
  expect_outcomes(outcomes_of(faults));
  expect_winner_without_fault();
  std::map<std::string, std::string> notes;
  for (const Trial& trial : trials()) notes[name_of(trial)] = trial.note;
  EXPECT_THAT(notes[tiled("TILE=8 UNROLL=4")], HasSubstr("Segmentation fault"));
  EXPECT_THAT(notes[tiled("TILE=8 UNROLL=8")], HasSubstr("code 3"));
  EXPECT_THAT(notes[tiled("TILE=16 UNROLL=1")], HasSubstr("nonsense"));
}

TEST_F(Survival, WhatASourceDoesToItsCompilerCostsThatSource) {
  const std::vector<PlacedFault> faults{
      {"compile_hang", "TILE=8 UNROLL=1", "timed_out"},   {"compile_abort", "TILE=8 UNROLL=2", "crashed"},
      {"compile_segfault", "TILE=8 UNROLL=4", "crashed"}, {"compile_garbage", "TILE=8 UNROLL=8", "crashed"},
      {"compile_deep", "TILE=16 UNROLL=1", "crashed"},    {"compile_refused", "TILE=16 UNROLL=2", "compile_failed"}};
  const auto summary = run(options(), text_of(faults));
  EXPECT_EQ(summary.tuned, 1);
  expect_outcomes(outcomes_of(faults));
  expect_winner_without_fault();
}

TEST_F(Survival, EveryFifthLaunchCrashesIn500Candidates) {
  SessionOptions many = options();
  many.families = {"naive"};
  many.only = parse_restriction("MAPPING=1,2,3 UNROLL=1,2,4,8");
  const auto summary = run(many, "sometimes@*");
  EXPECT_EQ(summary.tuned, 1);
  std::map<std::string, int> counts;
  for (const auto& [candidate, outcome] : outcomes()) ++counts[outcome];
  EXPECT_GE(counts["ok"] + counts["crashed"], 500);
  EXPECT_GT(counts["crashed"], 0.1 * (counts["ok"] + counts["crashed"]));
  EXPECT_LT(counts["crashed"], 0.3 * (counts["ok"] + counts["crashed"]));
  const auto winners = Store::open(path("test.db"), OpenMode::read_only).winners();
  ASSERT_EQ(winners.size(), 1u);
  EXPECT_EQ(winners[0].trial.outcome, Outcome::ok);
}

TEST_F(Survival, WhatStopsTheRaceIsFoundOrNoneWinsByIt) {
  // Nothing is wrong with it alone, so that the race is given up: the times that there are decide.
  for (const char* fault : {"race_abort@*", "race_memory@*", "race_refused@*"}) {
    std::filesystem::remove(path("test.db"));
    const auto summary = run(options(), fault);
    EXPECT_EQ(summary.tuned, 1) << fault;
    expect_outcomes({});
    expect_winner_without_fault();
  }
}

TEST_F(Survival, AProblemThatCannotBePreparedIsSkipped) {
  SessionOptions three = options();
  three.problems = {packed_problem(Precision::fp32, Layout::nn, 32, 32, 32), three.problems[0],
                    packed_problem(Precision::fp32, Layout::nn, 1'000'000, 32, 32)};
  const auto summary = run(three, "begin_abort@fp32 nn 32x32x32");
  EXPECT_EQ(summary.tuned, 1);
  EXPECT_EQ(summary.failed, 2);
  expect_outcomes({});
}

TEST_F(Survival, AFaultyGpuEndsTheRunAndWhatIsKnownIsKept) {
  try {
    run(options(), "abort@" + tiled("TILE=16 UNROLL=4") + ";dead@" + path("dead"));
    FAIL() << "a faulty GPU was not noticed";
  } catch (const DeviceLostError& error) {
    EXPECT_THAT(error.what(), HasSubstr("GPU 0 is faulty"));
  }
  EXPECT_FALSE(trials().empty());
  EXPECT_TRUE(Store::open(path("test.db"), OpenMode::read_only).check().faults.empty());
  std::filesystem::remove(path("dead"));
  EXPECT_EQ(run(options(), "").tuned, 1);  // mended, the same command goes on
}

TEST_F(Survival, WorkersDieWithAKilledParent) {
  const pid_t parent = fork();
  if (parent == 0) {
    run(options(), "hang@*;compile_hang@" + tiled("TILE=8 UNROLL=1"));
    _exit(0);
  }
  using Clock = std::chrono::steady_clock;
  const auto patience = Clock::now() + std::chrono::seconds(60);
  // One that runs a candidate, two that compile.
  while (children_of(parent).size() < 3 && Clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto workers = children_of(parent);
  EXPECT_EQ(workers.size(), 3u);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_FALSE(std::filesystem::exists(fmt::format("/tmp/mmtune-GPU-test-{}-0.lock", parent))) << "left behind";
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  const auto is_gone = [](const ProcessLine& worker) {
    const auto line = look_at(worker.id);
    return !line || line->state == 'Z';
  };
  while (!std::all_of(workers.begin(), workers.end(), is_gone) && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (const ProcessLine& worker : workers) {
    EXPECT_TRUE(is_gone(worker)) << worker.id;
    if (!is_gone(worker)) kill(worker.id, SIGKILL);
  }
}

}  // namespace
}  // namespace mmtune::test
