#include "runtime/call/loaded_route.h"

#include <algorithm>

#include "runtime/gpu/launch.h"

namespace mmtune {

const PlannedRoutePtr& before_learning(const PlannedRoutePtr& route) { return route->decided ? route->decided : route; }

const LoadedRoutePtr& before_learning(const LoadedRoutePtr& route) {
  const auto* replaced = std::get_if<Replaced>(&route->lessons);
  return replaced == nullptr ? route : replaced->decided;
}

Portion portion_of(const Choice& choice, const Demand& demand, std::int64_t room) {
  const std::int64_t most = choice.fusion.batched ? products_at_once(choice.plan, room) : 1;
  const std::int64_t products = std::min(most, demand.products);
  return {products, static_cast<std::size_t>(batch_workspace_bytes(choice.plan, products))};
}

std::int64_t most_workspace(const LoadedRoute& route) {
  std::int64_t bytes = route.choice.plan.workspace.bytes();
  const auto include = [&](const LoadedRoutePtr& other) { bytes = std::max(bytes, most_workspace(*other)); };
  if (const auto* replaced = std::get_if<Replaced>(&route.lessons)) include(replaced->decided);
  if (const auto* learner = std::get_if<std::unique_ptr<Learner>>(&route.lessons)) {
    for (const LoadedRoutePtr& rival : (*learner)->rivals) include(rival);
  }
  return bytes;
}

}  // namespace mmtune
