#include "runtime/call/route_loader.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <chrono>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/gpu/current_context.h"

namespace mmtune {
namespace {

constexpr std::chrono::milliseconds kPatienceInAll{50};  // the time for all locks of all databases

constexpr std::string_view kNotLoaded =
    "the stream is captured and the kernel that was chosen is not loaded; call prepare() before";
constexpr std::string_view kNotCompiled = "its kernel is not compiled with it; call prepare() before";

/// The choice as a program with an epilogue, which no database has and whose time nobody measured.
void add_fusion(const Fusion& fusion, Choice& choice) {
  if (choice.fusion == fusion) return;
  choice.fusion = fusion;
  choice.binary_hash.clear();
  choice.measured = false;
  choice.why += fmt::format("; compiled with {}", to_string(fusion));
}

}  // namespace

RouteLoader::RouteLoader(const LibraryOptions& options, DeviceSpec device, std::optional<CUdevice> installed)
    : compile_missing_(options.compile_missing || options.compile_untuned),
      compile_untuned_(options.compile_untuned),
      learn_(options.learn),
      installed_(installed),
      places_(database_places(options)),
      lock_budget_(kPatienceInAll),
      device_(std::move(device)),
      kernels_(places_.all(), device_, template_files(), lock_budget_),
      table_(device_, load_databases()),
      picks_(table_, device_),
      learners_(table_, kernels_) {}

/// The machine code of the fallbacks is kept, so that there is always something to run.
StoredKernels RouteLoader::load_databases() {
  StoredKernels stored = read_databases(places_, device_, kernels_.programs().files(), lock_budget_, note_);
  kernels_.programs().keep(std::move(stored.images));
  return stored;
}

Answer RouteLoader::answer(const Choice& choice) const {
  return {choice.match,         std::string(choice.family->name()),
          choice.config.text(), choice.expected_us,
          choice.measured,      note_.empty() ? choice.why : fmt::format("{} ({})", choice.why, note_),
          choice.cublas_ratio};
}

// -- taking a route --------------------------------------------------------------------------------------------------

RouteLoader::Taken RouteLoader::take(CUcontext context, const Demand& demand, const Permission& permission) {
  const std::vector<Route> routes = routes_of(demand, permission.purpose);
  Taken taken;
  Reasons reasons;
  for (auto route = routes.begin();; ++route) {
    if (!route->finish.is_empty()) taken.finish = finish(context, *route, permission, reasons.finish);
    choose(*route, permission, reasons, taken);
    const std::optional<Obstacle> obstacle = load(context, route->part, permission, taken);
    if (!obstacle) break;
    taken.is_stopgap |= obstacle->passes;
    const auto next = route + 1;
    const bool is_last = next == routes.end() || (next->is_fallback && taken.choice.match == Match::fallback);
    if (is_last) refuse(route->part, permission, *obstacle);
    if (route->part.fusion.batched) {
      reasons.each = obstacle->why;
    } else if (!next->is_fallback) {
      reasons.finish = obstacle->why;
    } else {
      reasons.fallback = obstacle->error ? fmt::format("{} {} could not be loaded: {}", taken.choice.family->name(),
                                                       taken.choice.config.text(), obstacle->why)
                                         : obstacle->why;
      if (obstacle->error) warn_of_fallback(demand.problem, reasons.fallback);
    }
  }
  Choice& choice = taken.choice;
  if (taken.finish) {
    choice.measured = false;
    choice.why +=
        fmt::format("; {} by a second kernel, since {}", to_string(demand.fusion.unbatched()), reasons.finish);
  }
  if (demand.fusion.batched && !choice.fusion.batched) {
    choice.why += fmt::format("; each product is a launch of its own, since {}", reasons.each);
  }
  return taken;
}

/// What is compiled where nothing stored can run a part.
std::optional<Choice> RouteLoader::to_compile(const Demand& part, const Permission& permission) {
  if (permission.purpose == Purpose::prepare) return picks_.best(part.problem, part.products);
  const bool is_permitted = permission.purpose == Purpose::run && permission.access == Access::compiled;
  if (!compile_untuned_ || !is_permitted) return std::nullopt;
  return picks_.first_of_kind(part.problem, part.products);
}

/// The kernel of a route: what was planned or prepared, or else what the table decides. A plan leaves an epilogue out
/// that nothing was prepared for.
void RouteLoader::choose(const Route& route, const Permission& permission, const Reasons& reasons, Taken& taken) {
  const auto& [problem, fusion, products] = route.part;
  if (route.is_fallback) {
    taken.choice = table_.fallback(problem, reasons.fallback);
    taken.is_unplanned = !taken.is_untuned;
  } else {
    PlannedRoutePtr plan = memory_.planned(route.part);
    if (plan == nullptr && !fusion.batched && !fusion.is_empty()) plan = memory_.planned({problem});
    const bool is_planned = plan != nullptr && (!fusion.batched || plan->choice.fusion.batched);
    const bool may_be_learnt = permission.purpose == Purpose::prepare && fusion.is_empty();
    taken.choice = is_planned ? (may_be_learnt ? plan : before_learning(plan))->choice
                              : table_.choose(problem, Policy::measured, products);
    taken.is_untuned = taken.choice.match == Match::fallback;
    if (taken.is_untuned) {
      if (auto pick = to_compile(route.part, permission)) taken.choice = *std::move(pick);
    }
    taken.is_unplanned = taken.is_untuned && taken.choice.match != Match::fallback;
  }
  check_promise(problem, taken.choice);
  if (permission.purpose != Purpose::plan || fusion.batched) add_fusion(fusion, taken.choice);
}

void RouteLoader::check_promise(const Problem& problem, const Choice& choice) const {
  if (!problem.invariant ||
      choice.family->summation(problem, choice.config, device_) == invariant_summation(problem, device_)) {
    return;
  }
  throw Error(fmt::format(
      "{}: {}, and the plain kernel adds up in another order; call prepare(), or run `mmtune cover --invariant "
      "--precision {} --layout {} --sizes …`",
      to_string(problem), choice.why, to_string(problem.precision), to_string(problem.layout)));
}

std::optional<RouteLoader::Obstacle> RouteLoader::load(CUcontext context, const Demand& part,
                                                       const Permission& permission, Taken& taken) {
  const Choice& choice = taken.choice;
  if (part.fusion.batched) {
    if (const std::string_view why = why_unbatched(choice.plan); !why.empty()) return Obstacle{std::string(why)};
  }
  if (permission.purpose == Purpose::plan) {
    if (part.fusion.batched && permission.access < Access::compiled) return Obstacle{std::string(kNotCompiled)};
    return std::nullopt;
  }
  try {
    taken.kernel = kernels_.get(context, choice, part.problem, permission.access);
    if (taken.kernel != nullptr) return std::nullopt;
  } catch (const DeviceLostError&) {
    throw;
  } catch (const Error& error) {
    const bool is_locked = dynamic_cast<const DatabaseLockedError*>(&error) != nullptr;
    return Obstacle{error.what(), is_locked, std::current_exception()};
  }
  if (part.fusion.is_empty() && permission.access == Access::stored) {
    const Error error = nothing_to_run(part.problem);
    return Obstacle{error.what(), false, std::make_exception_ptr(error)};
  }
  const bool passes = permission.access == Access::loaded && (!choice.binary_hash.empty() || compile_missing_);
  return Obstacle{std::string(part.fusion.is_empty() ? kNotLoaded : kNotCompiled), passes, nullptr};
}

/// Every route that follows has the same second kernel, without which nothing can run. `why` says why there is one.
Finish RouteLoader::finish(CUcontext context, const Route& route, const Permission& permission, std::string_view why) {
  const Problem& problem = route.part.problem;
  auto finish = kernels_.finish(context, problem, route.finish, permission.access);
  if (finish) return *std::move(finish);
  throw Error(fmt::format("{} with {}: {}", to_string(problem), to_string(route.finish), why));
}

/// Throws what says why no route can be taken.
void RouteLoader::refuse(const Demand& part, const Permission& permission, const Obstacle& obstacle) const {
  const Problem& problem = part.problem;
  if (permission.purpose == Purpose::run && !part.fusion.is_empty()) {
    throw Error(fmt::format("{} with {}: {}", to_string(problem), to_string(part.fusion), obstacle.why));
  }
  if (obstacle.error) std::rethrow_exception(obstacle.error);
  throw Error(
      fmt::format("{}: its kernel is not loaded, which is not possible while the stream is captured; call prepare() "
                  "before",
                  to_string(problem)));
}

Error RouteLoader::nothing_to_run(const Problem& problem) const {
  return Error(
      fmt::format("{}: no stored kernel can run it and the fallback is not compiled; call prepare(), open "
                  "the library with compile_missing, or run `{}`",
                  to_string(problem), tune_command(problem, places_.own)));
}

/// Warns once: an application may have many sizes.
void RouteLoader::warn_of_fallback(const Problem& problem, std::string_view why) {
  if (warned_of_fallback_.exchange(true)) return;
  log::warning("{}: {}; the fallback runs, which is slow: call prepare() where there is NVRTC, or run `{}`",
               to_string(problem), why, tune_command(problem, places_.own));
}

// -- answers ---------------------------------------------------------------------------------------------------------

PlannedRoutePtr RouteLoader::planned(const Demand& demand) {
  if (PlannedRoutePtr plan = memory_.planned(demand)) return plan;
  if (!demand.fusion.batched && !demand.fusion.is_empty()) return before_learning(planned({demand.problem}));
  Taken taken = take(nullptr, demand, {Purpose::plan, compile_missing_ ? Access::compiled : Access::stored});
  const auto plan = std::make_shared<PlannedRoute>(PlannedRoute{std::move(taken.choice)});
  if (!memory_.is_full()) memory_.put(demand, plan);
  return plan;
}

std::size_t RouteLoader::workspace_bytes(const Demand& demand) {
  if (const auto bytes = memory_.workspace_bytes(demand)) return *bytes;
  return portion_of(before_learning(planned(demand))->choice, demand, kBatchWorkspace).workspace_bytes;
}

LoadedRoutePtr RouteLoader::loaded(CUcontext context, const Demand& demand, CUstream stream) {
  if (LoadedRoutePtr route = memory_.loaded(context, demand)) return route;
  require_context_of(*installed_);
  const Access access = is_capturing(stream) ? Access::loaded : compile_missing_ ? Access::compiled : Access::stored;
  Taken taken = take(context, demand, {Purpose::run, access});
  if (taken.choice.match == Match::fallback && access != Access::loaded) {
    warn_of_fallback(demand.problem, taken.choice.why);
  }
  if (taken.is_stopgap || memory_.is_full()) {
    memory_.forget();
    return std::make_shared<LoadedRoute>(std::move(taken.choice), std::move(taken.kernel), std::move(taken.finish));
  }
  // A plan of an epilogue is of one kernel.
  const bool is_of_one_kernel = !taken.finish && (taken.is_unplanned || !demand.fusion.is_empty());
  if (demand.fusion.batched || is_of_one_kernel) {
    memory_.put(demand, std::make_shared<PlannedRoute>(PlannedRoute{taken.choice}));
  }
  return remember(context, demand, std::move(taken), access);
}

LoadedRoutePtr RouteLoader::prepared(CUcontext context, const Demand& demand) {
  require_context_of(*installed_);
  LoadedRoutePtr before = memory_.loaded(context, demand);
  const auto has_best_route = [&](const Choice& choice) {
    return choice.fusion == demand.fusion && choice.match != Match::fallback;
  };
  if (before != nullptr && has_best_route(before->choice)) return before;
  Taken taken = take(context, demand, {Purpose::prepare, Access::compiled});
  prepare_others(context, demand, taken);
  if (before != nullptr && before->choice.why == taken.choice.why) return before;
  if (taken.is_stopgap) {
    return std::make_shared<LoadedRoute>(std::move(taken.choice), std::move(taken.kernel), std::move(taken.finish));
  }
  // It was asked for, so it is kept however much is remembered already.
  memory_.put(demand, std::make_shared<PlannedRoute>(PlannedRoute{taken.choice}));
  return remember(context, demand, std::move(taken), Access::compiled);
}

/// What other sizes may need while a stream is captured: the fallback, and a second kernel for the epilogue.
void RouteLoader::prepare_others(CUcontext context, const Demand& demand, const Taken& taken) {
  const Fusion each = demand.fusion.unbatched();
  if (each.has_epilogue() && !each.loads_scalars) kernels_.finish(context, demand.problem, each, Access::compiled);
  const Access access = taken.is_untuned && taken.choice.fusion.is_empty() ? Access::compiled : Access::stored;
  try {
    kernels_.get(context, table_.fallback(demand.problem, ""), demand.problem, access);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const Error& error) {
    log::debug("{}: {}", to_string(demand.problem), error.what());
  }
}

LoadedRoutePtr RouteLoader::remember(CUcontext context, const Demand& demand, Taken taken, Access access) {
  const auto route =
      std::make_shared<LoadedRoute>(std::move(taken.choice), std::move(taken.kernel), std::move(taken.finish));
  const bool may_learn = learn_ && demand.fusion.is_empty() && access != Access::loaded && !memory_.is_full();
  if (may_learn) learners_.add_rivals(context, demand.problem, *route);
  memory_.put(context, demand, route);
  return route;
}

void RouteLoader::settle(CUcontext context, const Problem& problem, const LoadedRoutePtr& route) {
  const Learnt learnt = learnt_from(route, planned({problem}));
  memory_.put({problem}, learnt.plan);
  memory_.put(context, {problem}, learnt.route);
}

}  // namespace mmtune
