// Searches that end before their time: by --budget, or by Ctrl-C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "templates/family/families.h"
#include "tests/tuner/faults_fixture.h"
#include "tuner/tune/deadlines.h"
#include "tuner/tune/family_spaces.h"

namespace mmtune::test {
namespace {

class CutShort : public FaultsTest {
 protected:
  SessionOptions options() const {
    SessionOptions options = FaultsTest::options();
    options.families = {"naive", "tiled"};
    return options;
  }

  std::string log() const { return "log@" + path("ran"); }

  /// Runs it with these faults, and presses Ctrl-C when so many candidates ran.
  SessionSummary interrupt(const SessionOptions& session, std::size_t count, const std::string& faults = "") const {
    std::filesystem::remove(path("ran"));
    const std::jthread presser([&](const std::stop_token& over) {
      while (lines("ran").size() < count && !over.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (!over.stop_requested()) std::raise(SIGINT);
    });
    return run(session, log() + ";" + faults);
  }

  static std::string default_kernel() {
    const Family& naive = family_named("naive");
    return "naive " + naive.default_config(packed_problem(Precision::fp32, Layout::nn, 64, 64, 64)).text();
  }
};

/// A search that has hardly begun when its time is over.
SessionOptions in_no_time(SessionOptions session) {
  session.strategy = "random";
  session.seed = 5;
  session.mode = SessionMode::retune();
  session.budget_s = 1e-6;
  return session;
}

TEST_F(CutShort, ASmallBudgetLeavesTheBetterKernelThatIsStored) {
  run(options(), "");
  const std::string best = winner();
  ASSERT_NE(best, "");
  const std::size_t all = trials().size();
  run(in_no_time(options()), log());
  EXPECT_LT(lines("ran").size(), all / 2) << "it was meant to be cut short";
  EXPECT_EQ(winner(), best);
}

TEST_F(CutShort, WhateverTheBudgetTheDefaultIsTried) {
  run(in_no_time(options()), "");
  EXPECT_EQ(outcomes().count(default_kernel()), 1U);
  EXPECT_NE(winner(), "");
}

TEST_F(CutShort, WhateverTheBudgetWhatASearchBeginsWithIsTried) {
  SessionOptions session = in_no_time(options());
  session.strategy = "ranked";
  run(session, "");
  const auto tried = outcomes();
  const FamilySpaces spaces({&family_named("naive"), &family_named("tiled")}, session.problems.front(),
                            session.devices.front().spec);
  for (const RankedCandidate& each : spaces.ranked(6)) {
    EXPECT_EQ(tried.count(key_of(spaces.candidate(each.number))), 1U) << key_of(spaces.candidate(each.number));
  }
}

TEST_F(CutShort, TheTimeOfASearchCountsFromItsFirstProgram) {
  SessionOptions session = FaultsTest::options();
  const FamilySpaces spaces({&family_named("tiled")}, session.problems.front(), session.devices.front().spec,
                            session.only);
  session.jobs = 1;
  session.budget_s = kExpectedRace_s + 0.9;  // The first candidate compiles for a second, and the others after it.
  run(session, "compile_hang@" + key_of(spaces.candidate(spaces.ranked(1).front().number)));
  EXPECT_GT(outcomes().size(), kAwaited + 1) << "more than those that are awaited however late it is";
}

TEST_F(CutShort, ACompilerThatIsSlowHoldsNoRunThatIsShortOfTime) {
  SessionOptions session = in_no_time(FaultsTest::options());
  session.strategy = "exhaustive";
  session.compile_limit_s = 60;
  session.latest_s = 1e-6;  // Only the first of ten begins, which may wait for a tenth of what the run may take longer.
  const FamilySpaces spaces({&family_named("tiled")}, session.problems.front(), session.devices.front().spec,
                            session.only);
  for (int m = 65; m < 74; ++m) session.problems.push_back(packed_problem(Precision::fp32, Layout::nn, m, 64, 64));
  const std::string slow = key_of(spaces.candidate(spaces.ranked(1).front().number));
  EXPECT_EQ(run(session, "compile_hang@" + slow).tuned, 1);
  EXPECT_EQ(outcomes().count(slow), 0U) << "it was awaited to its end";
}

TEST_F(CutShort, ProblemsThatABudgetHasNoTimeForAreNamedAndLeftToTheNextRun) {
  SessionOptions session = in_no_time(options());
  session.mode = SessionMode::tune();
  session.problems.push_back(packed_problem(Precision::fp32, Layout::nn, 96, 64, 64));
  session.latest_s = 1e-6;
  testing::internal::CaptureStderr();
  const SessionSummary first = run(session, "");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("1 problem, not tuned: fp32 nn 96x64x64;"));
  EXPECT_EQ(first.tuned, 1);
  EXPECT_EQ(first.left, std::vector{session.problems.back()});
  session.budget_s = session.latest_s = 0;
  EXPECT_EQ(run(session, "").left.size(), 0U);
  EXPECT_EQ(Store::open(path("test.db"), OpenMode::read_only).winners().size(), 2U);
}

TEST_F(CutShort, WhatASmallBudgetLeavesOutIsSearchedByTheNextRun) {
  SessionOptions session = FaultsTest::options();
  const FamilySpaces spaces({&family_named("tiled")}, session.problems.front(), session.devices.front().spec,
                            session.only);
  std::vector<Candidate> compiled;  // all but those that are awaited, which are ready after them
  for (const RankedCandidate& each : spaces.ranked(candidates())) compiled.push_back(spaces.candidate(each.number));
  compiled.erase(compiled.begin(), compiled.begin() + kAwaited);
  session.mode = SessionMode::measure([&](const Problem&) { return compiled; });
  run(session, "");

  session = in_no_time(session);
  session.strategy = "exhaustive";
  run(session, log());
  ASSERT_LT(lines("ran").size(), candidates()) << "it was meant to be cut short";
  session.mode = SessionMode::tune();
  EXPECT_EQ(run(session, "").known, 0);
}

TEST_F(CutShort, WhatCtrlCEndsDecidesNothing) {
  const SessionSummary first = interrupt(options(), 3);
  EXPECT_TRUE(first.interrupted);
  EXPECT_GE(trials().size(), 3U) << "what was finished is kept";
  EXPECT_EQ(winner(), "");

  run(options(), "");
  const std::string best = winner();
  SessionOptions again = options();
  again.strategy = "random";
  again.mode = SessionMode::retune();
  EXPECT_TRUE(interrupt(again, 3).interrupted);
  EXPECT_EQ(winner(), best);
}

TEST_F(CutShort, WhatCtrlCEndsKeepsWhatWasMeasuredOfAList) {
  EXPECT_TRUE(interrupt(listed(), 3).interrupted);
  EXPECT_GE(trials().size() + 1, lines("ran").size()) << "one more may have run when it ended";
}

TEST_F(CutShort, CtrlCEndsSecondChancesToo) {
  SessionOptions some = options();
  some.strategy = "random";
  run(some, "");
  const std::size_t once = trials().size();
  const std::string faults = "impatient@*;race_incorrect@" + ranking().front();
  start_from_nothing();
  run(some, log() + ";" + faults);
  const std::size_t all = lines("ran").size();
  ASSERT_GT(all, once + 5) << "some were to be tried again";

  start_from_nothing();
  EXPECT_TRUE(interrupt(some, once + 1, faults + ";alone@" + path("alone")).interrupted);
  EXPECT_LT(lines("ran").size(), all);
  EXPECT_EQ(winner(), "");
}

}  // namespace
}  // namespace mmtune::test
