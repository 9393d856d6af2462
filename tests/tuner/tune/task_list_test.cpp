#include "tuner/tune/task_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

Problem cube(std::int64_t n) { return packed_problem(Precision::fp32, Layout::nn, n, n, n); }

TEST(TaskQueue, LanesTakeTasksInOrderWhileTheyAreExpectedToEndInTime) {
  const Preparation preparation(TemplateFiles::embedded(), catalog_gpu("h200"), CompileTarget{90, true, "sm_90a"},
                                Evidence::measured, "13.0");
  std::deque<Task> tasks;
  for (const std::int64_t n : {64, 128, 256}) {
    tasks.push_back({cube(n), SearchIdentity({}, {}, preparation, cube(n))});
  }
  const auto begin = TaskQueue::Clock::now();
  TaskQueue queue(Deadlines(begin + 300s), begin + 1h);
  EXPECT_FALSE(queue.take());
  queue.fill(std::move(tasks), 2);
  const auto first = queue.take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->task.problem, cube(64));
  EXPECT_GT(first->part, 190s) << "each of two lanes has half of three problems";
  EXPECT_LE(first->part, 200s);
  EXPECT_GT(first->deadline, begin + 190s);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_THAT(queue.coming(1), ElementsAre(cube(128)));
  EXPECT_THAT(queue.coming(), ElementsAre(cube(128), cube(256)));
  queue.ended(begin - 2h);
  EXPECT_FALSE(queue.take()) << "the others are expected to take two hours more than they have";
  EXPECT_THAT(queue.coming(), ElementsAre(cube(128), cube(256)));
}

}  // namespace
}  // namespace mmtune
