// The answers to a demand: the route that calls take, planned, and loaded on the GPU.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "runtime/call/demand.h"
#include "runtime/choose/dispatch.h"
#include "runtime/gpu/kernel_cache.h"
#include "runtime/learn/learning.h"

namespace mmtune {

/// What would run, loaded nowhere.
struct PlannedRoute {
  Choice choice;
  std::shared_ptr<const PlannedRoute> decided = nullptr;  ///< what this has replaced, where calls have taught better
};

/// Points to what is owned, or without an owner to what is remembered, which lives as long as the memory: owners are
/// counted, and threads that count at one place take turns.
using PlannedRoutePtr = std::shared_ptr<const PlannedRoute>;

/// The second kernel, which goes over C again.
struct Finish {
  LaunchPlan plan;
  LoadedKernelPtr kernel;
};

struct LoadedRoute;
using LoadedRoutePtr = std::shared_ptr<const LoadedRoute>;  ///< It is owned or not, as PlannedRoutePtr is.

/// A size whose calls try other kernels beside the one that was decided.
struct Learner {
  Learner(std::vector<LoadedRoutePtr> others, double loading_us, std::uint64_t seed)
      : rivals(std::move(others)), size(1 + rivals.size(), loading_us, seed) {}

  const std::vector<LoadedRoutePtr> rivals;  ///< kernels 1 and up of the race
  LearningSize size;
};

struct NothingToLearn {};

/// What ran before calls taught better.
struct Replaced {
  LoadedRoutePtr decided;
};

/// What calls of a demand run, loaded in one context.
struct LoadedRoute {
  LoadedRoute(Choice chosen, LoadedKernelPtr loaded, std::optional<Finish> finishing = {})
      : choice(std::move(chosen)), kernel(std::move(loaded)), finish(std::move(finishing)) {}

  Choice choice;
  LoadedKernelPtr kernel;
  std::optional<Finish> finish;
  std::variant<NothingToLearn, std::unique_ptr<Learner>, Replaced> lessons;  ///< what calls teach, or have taught
  mutable std::atomic<std::int64_t> products = 0;  ///< how many it has computed, where calls are recorded

  bool has_lessons() const { return lessons.index() != 0; }
};

/// What is run or planned for calls that neither teach nor learn.
const PlannedRoutePtr& before_learning(const PlannedRoutePtr& route);
const LoadedRoutePtr& before_learning(const LoadedRoutePtr& route);

/// The part of a call that is one launch of each step.
struct Portion {
  std::int64_t products;
  std::size_t workspace_bytes;
};

/// Has as many products as `room` bytes of workspace have parts for, at most those that the demand stands for.
Portion portion_of(const Choice& choice, const Demand& demand, std::int64_t room);

inline constexpr std::int64_t kBatchWorkspace = 64 << 20;  ///< bytes that the library takes for several products

/// Bytes of workspace that suffice for whichever of its kernels a call runs.
std::int64_t most_workspace(const LoadedRoute& route);

}  // namespace mmtune
