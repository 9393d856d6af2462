// How far a session says that it is: by what its problems really take.
#include "tuner/tune/run_progress.h"

#include <gtest/gtest.h>

#include "runtime/base/log.h"

namespace mmtune {
namespace {

class RunProgressTest : public ::testing::Test {
 protected:
  RunProgressTest() { log::set_level(log::Level::silent); }
  ~RunProgressTest() override { log::set_level(before_); }

  static void expect_state(const RunProgress& progress, std::int64_t done, std::int64_t total, double share) {
    EXPECT_EQ(progress.state().done, done);
    EXPECT_EQ(progress.state().total, total);
    EXPECT_NEAR(progress.state().share, share, 1e-9);
  }

  const Problem problem_ = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024);

 private:
  log::Level before_ = log::level();
};

TEST_F(RunProgressTest, CountsProblemsWhoseNumberStays) {
  RunProgress progress(3, 24);
  expect_state(progress, 0, 3, 0);
  for (int ended = 0; ended < 3; ++ended) {
    RunProgress::Search search = progress.begin(problem_, 24);
    double before = progress.state().share;
    for (int i = 0; i < 7; ++i) {
      search.judge(5);
      EXPECT_EQ(progress.state().total, 3);
      EXPECT_GT(progress.state().share, before);
      before = progress.state().share;
    }
    search.end(nullptr);
    expect_state(progress, ended + 1, 3, (ended + 1) / 3.0);
  }
}

TEST_F(RunProgressTest, LearnsFromProblemsThatEndEarly) {
  RunProgress progress(10, 170);
  RunProgress::Search first = progress.begin(problem_, 170);
  for (int i = 0; i < 12; ++i) first.judge(5);
  EXPECT_FALSE(progress.state().is_known) << "the first says little of the others";
  first.end(nullptr);
  EXPECT_TRUE(progress.state().is_known);
  RunProgress::Search second = progress.begin(problem_, 170);
  for (int i = 0; i < 6; ++i) second.judge(5);
  expect_state(progress, 1, 10, (1 + 0.9 / 2) / 10);
  for (int i = 0; i < 60; ++i) second.judge(5);
  expect_state(progress, 1, 10, 0.19);
}

TEST_F(RunProgressTest, ASingleProblemIsEstimatedFromAQuarterOn) {
  RunProgress progress(1, 100);
  RunProgress::Search search = progress.begin(problem_, 10);
  search.judge(5);
  EXPECT_FALSE(progress.state().is_known);
  for (int i = 0; i < 4; ++i) search.judge(5);
  EXPECT_TRUE(progress.state().is_known);
}

TEST_F(RunProgressTest, ProblemsThatAreKnownTakeNothing) {
  RunProgress progress(3, 170);
  progress.skip();
  progress.skip();
  expect_state(progress, 0, 1, 0);
  progress.begin(problem_, 24).end(nullptr);
  expect_state(progress, 1, 1, 1);
}

TEST_F(RunProgressTest, WhatIsSoFarDoesNotContradictTheEnd) {
  log::set_level(log::Level::warning);
  testing::internal::CaptureStderr();
  RunProgress progress(1, 10);
  progress.begin(problem_, 10).judge(flops(problem_) / 24.8 * 1e-6);
  const auto text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("24.8"), std::string::npos) << text;
}

TEST_F(RunProgressTest, AFailureIsItsFirstError) {
  Trial trial;
  trial.outcome = Outcome::compile_failed;
  trial.note = "a.cu(3): warning: unused\na.cu(12): error: identifier \"x\" is undefined\na.cu(14): error: no\n";
  EXPECT_EQ(failure_line(trial), "compile_failed: a.cu(12): error: identifier \"x\" is undefined");
  trial.note = "too many registers\nof them";
  EXPECT_EQ(failure_line(trial), "compile_failed: too many registers");
  trial.note = "";
  trial.outcome = Outcome::timed_out;
  EXPECT_EQ(failure_line(trial), "timed_out");
}

TEST_F(RunProgressTest, ALineSaysWhatAProblemCameTo) {
  Winner winner;
  winner.trial.key.problem = problem_;
  winner.trial.timing.median_us = 48.2;
  winner.candidates = 170;
  EXPECT_EQ(result_line(winner), "fp32 nn 1024x1024x1024: 44.6 TFLOP/s, best of 170 candidates");
  winner.trial.key.evidence = Evidence::predicted;
  winner.candidates = 1;
  EXPECT_EQ(result_line(winner), "fp32 nn 1024x1024x1024: 44.6 TFLOP/s predicted, best of 1 candidate");
}

}  // namespace
}  // namespace mmtune
