// What the library chooses among so many kernels that not all are weighed, beside a plain search by plans for each.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include "runtime/choose/dispatch.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "templates/space/space.h"
#include "tests/runtime/stored_kernels.h"

namespace mmtune {
namespace {

using test::fp32;

/// Winners of drawn sizes, with so many kernels that not all are weighed.
class DispatchOfManyKernels : public testing::Test {
 protected:
  DispatchOfManyKernels() {
    for (std::size_t i = 0; i < 1800; ++i) {
      const Problem problem = any_size();
      const double us = model_us(*kernels_[i % kernels_.size()], problem) * (1 + 0.01 * static_cast<double>(i % 17));
      stored_.winners.push_back({problem, kernels_[i % kernels_.size()], us, true});
    }
  }

  /// The best of the model, but for sums that blocks share.
  static const std::vector<std::shared_ptr<const StoredKernel>>& some_kernels() {
    static const std::vector<std::shared_ptr<const StoredKernel>> kernels = ranked_kernels();
    return kernels;
  }

  static std::vector<std::shared_ptr<const StoredKernel>> ranked_kernels(std::size_t most = 1200) {
    const Family& family = family_named("simt");
    const SearchSpace space(family, fp32(2048, 2048, 2048), catalog_gpu("h200"));
    std::vector<std::shared_ptr<const StoredKernel>> kernels;
    for (const RankedConfig& ranked : space.ranked(most)) {
      const Config config = space.config(ranked.number);
      if (*config.find("SPLIT") > 1) continue;  // The launch says it, see dispatch_split_test.cpp.
      kernels.push_back(std::make_shared<const StoredKernel>(StoredKernel{&family, config, config.text(), 64}));
    }
    return kernels;
  }

  Problem any_size() {
    const auto extent = [&] { return static_cast<std::int64_t>(8 * (1 + random_() % 1024)); };
    return fp32(extent(), extent(), extent());
  }

  double model_us(const StoredKernel& kernel, const Problem& problem) const {
    return predict(problem, kernel.family->plan(problem, kernel.config, device_), device_, kernel.registers).time_us;
  }

  bool can_run(const StoredKernel& kernel, const Problem& problem) const {
    const auto plan = kernel.family->legal_plan(problem, kernel.config, device_);
    return plan && plan->workspace.bytes() <= device_.memory_bytes / 16;
  }

  /// The kernel with the shortest cautious time of all that are weighed, by a plan for each.
  const StoredKernel* plain_choice(const MeasuredTimes& learnt, const Problem& problem) const {
    std::vector<const Entry*> by_distance;
    for (const Entry& entry : stored_.winners) by_distance.push_back(&entry);
    std::stable_sort(by_distance.begin(), by_distance.end(), [&](const Entry* x, const Entry* y) {
      return distance(problem, x->problem) < distance(problem, y->problem);
    });
    const auto runs = [&](const Entry* entry) { return can_run(*entry->kernel, problem); };
    const auto near = std::find_if(by_distance.begin(), by_distance.end(), runs);
    if (near == by_distance.end()) return nullptr;
    const auto around = learnt.around(problem);
    const auto number_of = [&](const StoredKernel* kernel) {
      const auto is_it = [&](const auto& each) { return each.get() == kernel; };
      return static_cast<std::uint32_t>(std::find_if(kernels_.begin(), kernels_.end(), is_it) - kernels_.begin());
    };
    const std::uint32_t nearest = number_of((*near)->kernel.get());
    auto weighed = around.promising(1023, [&](std::uint32_t number) { return number != nearest; });
    weighed.push_back(nearest);
    const StoredKernel* best = nullptr;
    double best_us = std::numeric_limits<double>::infinity();
    for (const std::uint32_t number : weighed) {
      const StoredKernel& kernel = *kernels_[number];
      const double us = model_us(kernel, problem) * around.factor(number) * around.caution(number);
      if (us < best_us && can_run(kernel, problem)) best = &kernel, best_us = us;
    }
    return best;
  }

  DeviceSpec device_ = catalog_gpu("h200");
  std::mt19937 random_{7};
  const std::vector<std::shared_ptr<const StoredKernel>>& kernels_ = some_kernels();
  StoredKernels stored_;
};

TEST_F(DispatchOfManyKernels, AChoiceIsThatOfPlansForAllThatAreWeighed) {
  std::vector<KernelTime> times;
  for (std::uint32_t i = 0; i < stored_.winners.size(); ++i) {
    const Entry& entry = stored_.winners[i];
    const auto number = static_cast<std::uint32_t>(i % kernels_.size());
    times.push_back({number, entry.problem, entry.median_us, model_us(*entry.kernel, entry.problem)});
  }
  const MeasuredTimes learnt(times);
  const DispatchTable table(device_, stored_);
  int not_nearest = 0;
  for (int round = 0; round < 300; ++round) {
    const Problem problem = any_size();
    const Choice choice = table.choose(problem);
    const StoredKernel* expected = plain_choice(learnt, problem);
    ASSERT_NE(expected, nullptr);
    EXPECT_EQ(choice.config.text(), expected->config.text()) << to_string(problem) << ": " << choice.why;
    not_nearest += choice.match == Match::predicted;
  }
  EXPECT_GT(not_nearest, 30) << "nothing was weighed";
}

TEST_F(DispatchOfManyKernels, WhatWonFarAwayIsWeighedAmongAsManyAsACoverKeeps) {
  const auto slow = ranked_kernels(8000);
  const auto& fast = kernels_.front();
  const auto winner = [&](const Problem& problem, const auto& kernel) {
    return Entry{problem, kernel, model_us(*kernel, problem), true};
  };
  stored_.winners = {winner(fp32(64, 64, 64), fast)};
  for (std::size_t i = 0; i < 300; ++i) {
    const auto k = static_cast<std::int64_t>(2048 + 8 * i);
    stored_.winners.push_back(winner(fp32(2048, 2048, k), slow[slow.size() - 1 - i]));
  }
  const Choice choice = DispatchTable(device_, stored_).choose(fp32(2048, 2048, 2040));
  EXPECT_EQ(choice.config.text(), fast->config.text()) << choice.why;
}

TEST_F(DispatchOfManyKernels, EveryTunedSizeIsFound) {
  const DispatchTable table(device_, stored_);
  for (const Entry& winner : stored_.winners) {
    const Choice choice = table.choose(winner.problem);
    EXPECT_EQ(choice.match, Match::exact);
    EXPECT_EQ(choice.expected_us, winner.median_us) << to_string(winner.problem);
  }
}

}  // namespace
}  // namespace mmtune
