// Shares of a fleet's problems: every problem is in one of them, they take about the same time, and every node comes to
// the same.
#include "tuner/tune/shares.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

DeviceChoice installed(std::string_view gpu) { return {catalog_gpu(gpu), 0}; }

/// Sizes as applications have them: extents drawn by their logarithm, in steps of 8.
SessionOptions drawn_problems(std::size_t count, std::string_view gpu) {
  SessionOptions options;
  options.devices = {installed(gpu)};
  options.families = {"simt"};
  std::mt19937 random(1);
  const auto extent = [&] {
    return 8 * (std::int64_t{1} << random() % 10) + 8 * static_cast<std::int64_t>(random() % 32);
  };
  while (options.problems.size() < count) {
    const std::int64_t m = extent(), n = extent(), k = extent();
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, m, n, k);
    if (std::find(options.problems.begin(), options.problems.end(), problem) == options.problems.end()) {
      options.problems.push_back(problem);
    }
  }
  return options;
}

std::vector<ExpectedWork> work_of(const SessionOptions& options) {
  std::vector<ExpectedWork> work;
  for (const Problem& problem : options.problems) {
    work.push_back({problem, expected_tuning_ms(options, options.devices.front(), problem)});
  }
  return work;
}

std::vector<std::int64_t> loads(const std::vector<ExpectedWork>& work, int count) {
  const std::vector<int> numbers = distribute(work, count);
  std::vector<std::int64_t> loads_ms(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < work.size(); ++i)
    loads_ms.at(static_cast<std::size_t>(numbers[i] - 1)) += work[i].expected_ms;
  return loads_ms;
}

TEST(Shares, EveryProblemIsInOneOfThem) {
  const SessionOptions options = drawn_problems(100, "h200");
  for (const int count : {1, 2, 7, 99, 100, 130}) {
    std::vector<Problem> all;
    for (int number = 1; number <= count; ++number) {
      for (const Problem& problem : problems_of(options, {number, count})) all.push_back(problem);
    }
    EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(options.problems)) << count;
  }
}

TEST(Shares, AThousandOfTenThousandProblemsTakeTheSameTimeWithinTenPercent) {
  for (const auto* gpu : {"h200", "t4"}) {
    const auto work = work_of(drawn_problems(10'000, gpu));
    const auto loads_ms = loads(work, 1000);
    const auto [least, most] = std::minmax_element(loads_ms.begin(), loads_ms.end());
    EXPECT_LE(static_cast<double>(*most), 1.1 * static_cast<double>(*least)) << gpu;
  }
}

TEST(Shares, LongProblemsAreSpread) {
  const auto problem = [](std::int64_t m) { return packed_problem(Precision::fp32, Layout::nn, m, 1, 1); };
  const std::vector<ExpectedWork> work{
      {problem(1), 2}, {problem(2), 9}, {problem(3), 3}, {problem(4), 9}, {problem(5), 4}};
  EXPECT_THAT(distribute(work, 2), ElementsAre(2, 1, 2, 2, 1));
  EXPECT_THAT(loads(work, 2), Each(Le(14)));
}

TEST(Shares, TheOrderOfTheListDoesNotMatter) {
  SessionOptions options = drawn_problems(60, "h200");
  const auto share = problems_of(options, {2, 5});
  std::reverse(options.problems.begin(), options.problems.end());
  std::swap(options.problems[3], options.problems[40]);
  EXPECT_THAT(problems_of(options, {2, 5}), ::testing::UnorderedElementsAreArray(share));
}

TEST(Shares, KeepTheOrderOfTheList) {
  const SessionOptions options = drawn_problems(60, "h200");
  const auto share = problems_of(options, {2, 5});
  auto rest = options.problems.begin();
  for (const Problem& problem : share) rest = std::find(rest, options.problems.end(), problem);
  EXPECT_NE(rest, options.problems.end());
}

TEST(Shares, EqualCardsWhoseClocksDifferComeToTheSame) {
  SessionOptions options = drawn_problems(60, "h200");
  const auto share = problems_of(options, {1, 4});
  DeviceSpec& other = options.devices.front().spec;
  other.core_clock_mhz /= 2;
  other.memory_bandwidth_gb_s *= 1.5;
  other.memory_bytes /= 2;
  other.uuid = "GPU-of another card";
  EXPECT_EQ(problems_of(options, {1, 4}), share);
}

TEST(Shares, ExpectedTimeGrowsWithWorkAndEffort) {
  SessionOptions options;
  const DeviceChoice gpu = installed("h200");
  const Problem small = packed_problem(Precision::fp32, Layout::nn, 256, 256, 256);
  const Problem large = packed_problem(Precision::fp32, Layout::nn, 8192, 8192, 8192);
  EXPECT_GT(expected_tuning_ms(options, gpu, large), 2 * expected_tuning_ms(options, gpu, small));
  EXPECT_GT(expected_tuning_ms(options, installed("t4"), large), expected_tuning_ms(options, gpu, large));
  const DeviceChoice model{gpu.spec, -1};
  EXPECT_EQ(expected_tuning_ms(options, model, large), expected_tuning_ms(options, model, small)) << "nothing runs";
  options.effort = "quick";
  EXPECT_LT(expected_tuning_ms(options, gpu, small), expected_tuning_ms(SessionOptions{}, gpu, small));
}

TEST(Shares, TimesOfHugeProblemsStayFiniteInSum) {
  SessionOptions options;
  options.families = {"simt"};
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  DeviceChoice gpu = installed("gt740m");
  const Problem huge = packed_problem(Precision::fp64, Layout::nn, kHuge, kHuge, kHuge);
  const std::int64_t expected_ms = expected_tuning_ms(options, gpu, huge);
  EXPECT_GT(expected_ms, 0);
  EXPECT_LT(expected_ms, std::numeric_limits<std::int64_t>::max() / 100'000);
}

}  // namespace
}  // namespace mmtune
