// Which other kernels the calls of a size try (LibraryOptions::learn), and what the size keeps. How their calls are
// timed and compared is in runtime/learn/.
#pragma once

#include <atomic>
#include <vector>

#include "runtime/call/kernels.h"
#include "runtime/call/loaded_route.h"
#include "runtime/choose/dispatch.h"

namespace mmtune {

/// Thread safe.
class Learners {
 public:
  static constexpr int kMostLearning = 1 << 11;  ///< the most sizes: each keeps some kilobytes

  /// The table and the kernels must live as long.
  Learners(const DispatchTable& table, Kernels& kernels) : table_(table), kernels_(kernels) {}

  /// Gives the route of a plain product rivals that are loaded, where there are any: none for a tuned size, and none in
  /// a second context, since events belong to one.
  void add_rivals(CUcontext context, const Problem& problem, LoadedRoute& route);

 private:
  std::vector<LoadedRoutePtr> rivals_of(CUcontext context, const Problem& problem, const Choice& decided);

  const DispatchTable& table_;
  Kernels& kernels_;
  std::atomic<CUcontext> context_ = nullptr;  ///< the context of the first size that learns
  std::atomic<int> sizes_ = 0;
};

/// What replaces the route of a learner whose race is over, and its plan.
struct Learnt {
  PlannedRoutePtr plan;
  LoadedRoutePtr route;
};

/// `plan` is what was planned before.
Learnt learnt_from(const LoadedRoutePtr& route, const PlannedRoutePtr& plan);

}  // namespace mmtune
