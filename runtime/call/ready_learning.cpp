// What ReadyKernels does for LibraryOptions::learn: which kernels a size tries, and what it keeps.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/call/ready_kernels.h"

namespace mmtune {

namespace {

constexpr std::int64_t kRivalWorkspace = 64 << 20;  // bytes that a kernel may need to be tried

}  // namespace

std::int64_t most_workspace(const Ready& ready) {
  std::int64_t bytes = ready.choice.plan.workspace.bytes();
  if (ready.decided) bytes = std::max(bytes, most_workspace(*ready.decided));
  if (ready.learning) {
    for (const ReadyPtr& rival : ready.learning->rivals) bytes = std::max(bytes, most_workspace(*rival));
  }
  return bytes;
}

std::vector<ReadyPtr> ReadyKernels::rivals_of(CUcontext context, const Problem& problem, const Ready& decided) {
  std::vector<ReadyPtr> rivals;
  for (Choice& choice : table_.alternatives(problem, CallRace::kMostKernels - 1)) {
    if (choice.plan.workspace.bytes() > std::max(kRivalWorkspace, decided.choice.plan.workspace.bytes())) continue;
    choice.why = fmt::format("tried on this call, to learn whether it is faster than {} {}",
                             decided.choice.family->name(), decided.choice.config.text());
    try {
      KernelCache::Kernel kernel = load(context, choice, problem, Compile::no);
      rivals.push_back(std::make_shared<Ready>(std::move(choice), std::move(kernel)));
    } catch (const DeviceLostError&) {
      throw;
    } catch (const Error& error) {
      log::debug("{}: {}", to_string(problem), error.what());
    }
  }
  return rivals;
}

/// With other kernels that calls may try, where there are any and the size is to learn.
ReadyPtr ReadyKernels::with_rivals(CUcontext context, const Problem& problem, ReadyPtr decided) {
  const bool is_tuned = decided->choice.match == Match::exact || decided->choice.match == Match::fallback;
  if (!learn_ || is_tuned || problem.k == 0 || ready_.size() >= kRemembered) return decided;
  CUcontext first = nullptr;
  if (!learning_context_.compare_exchange_strong(first, context) && first != context) return decided;
  if (learning_sizes_ >= kMostLearning) return decided;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<ReadyPtr> rivals = rivals_of(context, problem, *decided);
  if (rivals.empty()) return decided;
  const std::chrono::duration<double, std::micro> loading = std::chrono::steady_clock::now() - begin;
  ++learning_sizes_;
  auto learning = std::make_shared<Ready>(decided->choice, decided->kernel);
  learning->learning = std::make_shared<LearningSize>(std::move(rivals), loading.count(), ProblemHash{}(problem));
  return learning;
}

void ReadyKernels::settle(CUcontext context, const Problem& problem, const ReadyPtr& ready) {
  const CallRace& race = ready->learning->race;
  const std::size_t winner = race.winner();
  const ReadyPtr best = winner == 0 ? ready : ready->learning->rivals[winner - 1];
  Choice choice = best->choice;
  choice.expected_us = race.median_us(winner);
  choice.measured = true;
  const std::string was =
      fmt::format("{} {}, {}", ready->choice.family->name(), ready->choice.config.text(), ready->choice.why);
  choice.why = winner == 0 ? fmt::format("{}; learnt from calls: none of {} other kernels is clearly faster",
                                         ready->choice.why, ready->learning->rivals.size())
                           : fmt::format("learnt from calls: {:.2f} times as fast as what was decided: {}",
                                         race.median_us(0) / race.median_us(winner), was);
  const auto plan = std::make_shared<Ready>(choice);
  const auto settled = std::make_shared<Ready>(std::move(choice), best->kernel);
  if (winner != 0) {
    plan->decided = before_learning(planned({problem}));
    settled->decided = std::make_shared<Ready>(ready->choice, ready->kernel);
  }
  put(nullptr, {problem}, plan);
  put(context, {problem}, settled);
}

}  // namespace mmtune
