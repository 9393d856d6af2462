#include "runtime/call/route_memory.h"

#include <utility>

namespace mmtune {

LoadedRoutePtr RouteMemory::loaded(CUcontext context, const Demand& demand) const {
  const LoadedRoutePtr* route = loaded_.find({context, demand});
  return {LoadedRoutePtr(), route == nullptr ? nullptr : route->get()};
}

PlannedRoutePtr RouteMemory::planned(const Demand& demand) const {
  const Planned* plan = planned_.find({nullptr, demand});
  return {PlannedRoutePtr(), plan == nullptr ? nullptr : plan->route.get()};
}

std::optional<std::size_t> RouteMemory::workspace_bytes(const Demand& demand) const {
  const Planned* plan = planned_.find({nullptr, demand});
  return plan == nullptr ? std::nullopt : std::optional(plan->workspace_bytes);
}

void RouteMemory::put(CUcontext context, const Demand& demand, LoadedRoutePtr route) {
  loaded_.put({context, demand}, std::move(route));
}

void RouteMemory::put(const Demand& demand, PlannedRoutePtr route) {
  const Portion launch = portion_of(before_learning(route)->choice, demand, kBatchWorkspace);
  planned_.put({nullptr, demand}, {std::move(route), launch.workspace_bytes});
}

void RouteMemory::forget() {
  // No call writes what it finds written: threads would take turns.
  if (!has_forgotten_.load(std::memory_order_relaxed)) has_forgotten_.store(true, std::memory_order_relaxed);
}

void RouteMemory::for_each(const std::function<void(const Problem&, const LoadedRoute&)>& visit) const {
  loaded_.for_each([&](const DemandKey& key, const LoadedRoutePtr& route) { visit(key.problem(), *route); });
}

}  // namespace mmtune
