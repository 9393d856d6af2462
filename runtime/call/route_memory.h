// The answers that a library has worked out.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "runtime/call/append_map.h"
#include "runtime/call/loaded_route.h"

namespace mmtune {

/// Thread safe; what is remembered is found without a lock. What is put hides what was there under the same key.
class RouteMemory {
 public:
  static constexpr std::size_t kRemembered = 1 << 17;  ///< the most answers; further ones are worked out for every call

  /// Null where nothing is remembered.
  LoadedRoutePtr loaded(CUcontext context, const Demand& demand) const;
  PlannedRoutePtr planned(const Demand& demand) const;

  /// The bytes of workspace of a launch of the plan, before anything is learnt from calls, in memory of the library;
  /// nothing where there is no plan.
  std::optional<std::size_t> workspace_bytes(const Demand& demand) const;

  bool is_full() const { return loaded_.size() + planned_.size() >= kRemembered; }

  /// Remembers the route, whatever is remembered already.
  void put(CUcontext context, const Demand& demand, LoadedRoutePtr route);
  void put(const Demand& demand, PlannedRoutePtr route);

  /// A call ran something that was not put.
  void forget();
  bool has_forgotten() const { return has_forgotten_; }

  /// Every route that was put and has run, or may have.
  void for_each(const std::function<void(const Problem&, const LoadedRoute&)>& visit) const;

 private:
  /// A plan, which fills a cache line together with its key.
  struct Planned {
    PlannedRoutePtr route;
    std::size_t workspace_bytes = 0;
  };

  AppendMap<DemandKey, LoadedRoutePtr, DemandHash> loaded_;
  AppendMap<DemandKey, Planned, DemandHash> planned_;
  std::atomic<bool> has_forgotten_ = false;
};

}  // namespace mmtune
