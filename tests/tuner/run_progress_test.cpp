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

  static void expect_count(const RunProgress& progress, std::int64_t done, std::int64_t total) {
    EXPECT_EQ(progress.count().done, done);
    EXPECT_EQ(progress.count().total, total);
  }

  const Problem problem_ = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024);

 private:
  log::Level before_ = log::level();
};

TEST_F(RunProgressTest, CountsWhatTheSpaceHolds) {
  RunProgress progress(1, 170);
  expect_count(progress, 0, 170);
  RunProgress::Search search = progress.begin(problem_, 1);
  expect_count(progress, 0, 1);
  search.judge(0);
  expect_count(progress, 1, 1);
  search.judge(12);  // one that has to be beaten
  expect_count(progress, 2, 2);
  search.end(nullptr);
  expect_count(progress, 2, 2);
}

TEST_F(RunProgressTest, LearnsFromProblemsThatEndEarly) {
  RunProgress progress(10, 170);
  RunProgress::Search search = progress.begin(problem_, 170);
  for (int i = 0; i < 12; ++i) search.judge(5);
  expect_count(progress, 12, 1700);
  search.end(nullptr);
  expect_count(progress, 12, 120);
  progress.begin(problem_, 170);
  expect_count(progress, 12, 120);
}

TEST_F(RunProgressTest, ProblemsThatAreKnownTakeNothing) {
  RunProgress progress(3, 170);
  progress.skip();
  progress.skip();
  expect_count(progress, 0, 170);
  progress.begin(problem_, 24).end(nullptr);
  expect_count(progress, 0, 0);
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
