#include "runtime/call/route.h"

namespace mmtune {

std::vector<Route> routes_of(const Demand& demand, Purpose purpose) {
  std::vector<Route> routes;
  if (demand.fusion.batched) routes.push_back({demand});
  const Demand each = demand.unbatched();
  routes.push_back({each});
  if (purpose == Purpose::plan) return routes;
  if (purpose == Purpose::prepare || each.fusion.is_empty()) {
    routes.push_back({.part = each, .is_fallback = true});
  } else if (!each.fusion.loads_scalars && !each.problem.invariant) {
    routes.push_back({{each.problem}, each.fusion});
    routes.push_back({{each.problem}, each.fusion, true});
  }
  return routes;
}

}  // namespace mmtune
