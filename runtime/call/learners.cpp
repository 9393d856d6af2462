#include "runtime/call/learners.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/log.h"

namespace mmtune {
namespace {

constexpr std::int64_t kRivalWorkspace = 64 << 20;  // the most bytes of workspace of a kernel that is tried

}  // namespace

std::vector<LoadedRoutePtr> Learners::rivals_of(CUcontext context, const Problem& problem, const Choice& decided) {
  std::vector<LoadedRoutePtr> rivals;
  for (Choice& choice : table_.alternatives(problem, CallRace::kMostKernels - 1)) {
    if (choice.plan.workspace.bytes() > std::max(kRivalWorkspace, decided.plan.workspace.bytes())) continue;
    choice.why = fmt::format("tried on this call, to learn whether it is faster than {} {}", decided.family->name(),
                             decided.config.text());
    try {
      LoadedKernelPtr kernel = kernels_.get(context, choice, problem, Access::stored);
      rivals.push_back(std::make_shared<LoadedRoute>(std::move(choice), std::move(kernel)));
    } catch (const DeviceLostError&) {
      throw;
    } catch (const Error& error) {
      log::debug("{}: {}", to_string(problem), error.what());
    }
  }
  return rivals;
}

void Learners::add_rivals(CUcontext context, const Problem& problem, LoadedRoute& route) {
  if (route.choice.match == Match::exact || route.choice.match == Match::fallback || problem.k == 0) return;
  CUcontext first = nullptr;
  if (!context_.compare_exchange_strong(first, context) && first != context) return;
  if (sizes_ >= kMostLearning) return;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<LoadedRoutePtr> rivals = rivals_of(context, problem, route.choice);
  if (rivals.empty()) return;
  const std::chrono::duration<double, std::micro> loading = std::chrono::steady_clock::now() - begin;
  ++sizes_;
  route.lessons = std::make_unique<Learner>(std::move(rivals), loading.count(), ProblemHash{}(problem));
}

Learnt learnt_from(const LoadedRoutePtr& route, const PlannedRoutePtr& plan) {
  const Learner& learner = *std::get<std::unique_ptr<Learner>>(route->lessons);
  const CallRace& race = learner.size.race;
  const std::size_t winner = race.winner();
  const LoadedRoute& best = winner == 0 ? *route : *learner.rivals[winner - 1];
  const Choice& decided = route->choice;
  Choice choice = best.choice;
  choice.expected_us = race.median_us(winner);
  choice.measured = true;
  choice.why = winner == 0 ? fmt::format("{}; learnt from calls: none of {} other kernels is clearly faster",
                                         decided.why, learner.rivals.size())
                           : fmt::format("learnt from calls: {:.2f} times as fast as what was decided: {} {}, {}",
                                         race.median_us(0) / race.median_us(winner), decided.family->name(),
                                         decided.config.text(), decided.why);
  const auto planned = std::make_shared<PlannedRoute>(PlannedRoute{choice});
  const auto loaded = std::make_shared<LoadedRoute>(std::move(choice), best.kernel);
  if (winner != 0) {
    planned->decided = before_learning(plan);
    loaded->lessons = Replaced{std::make_shared<LoadedRoute>(decided, route->kernel)};
  }
  return {planned, loaded};
}

}  // namespace mmtune
