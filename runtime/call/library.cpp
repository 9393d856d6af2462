#include <fmt/format.h>
#include <mmtune/mmtune.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/call/call_record.h"
#include "runtime/call/gemm_call.h"
#include "runtime/call/route_loader.h"
#include "runtime/gpu/current_context.h"
#include "runtime/gpu/device_query.h"
#include "runtime/gpu/workspaces.h"
#include "runtime/learn/learning.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

std::int64_t room_of(const Gemm& call) {
  constexpr std::size_t kMost = std::size_t{1} << 60;
  return call.workspace == nullptr ? kBatchWorkspace : static_cast<std::int64_t>(std::min(call.workspace_bytes, kMost));
}

/// The number of the device of the calling thread's context, or 0.
int current_device() {
  CUcontext context = nullptr;
  if (gpu_count() > 0) MMTUNE_CUDA(cuCtxGetCurrent(&context));
  CUdevice device = 0;
  if (context != nullptr) MMTUNE_CUDA(cuCtxGetDevice(&device));
  return device;
}

/// Whether a call may run another kernel than was decided: whether its time is that of its size.
bool learns_from(const Gemm& call, const GemmCall& checked) {
  return checked.batch == 1 && checked.fusion.is_empty() && call.workspace == nullptr && call.alpha != 0;
}

}  // namespace

std::string_view to_string(Match match) {
  switch (match) {
    case Match::exact:
      return "exact";
    case Match::nearest:
      return "nearest";
    case Match::predicted:
      return "predicted";
    case Match::fallback:
      break;
  }
  return "fallback";
}

struct Library::Impl {
  Impl(const LibraryOptions& options, DeviceSpec device, std::optional<CUdevice> installed)
      : routes(std::make_unique<RouteLoader>(options, std::move(device), installed)) {
    if (installed) primary.emplace(*installed);
  }

  ~Impl() {
    write_record();
    if (!primary) return;
    // Memory is freed, and events are destroyed, in any context, but not without one.
    CUcontext context = nullptr;
    check_in_destructor(cuda().cuCtxGetCurrent(&context), "cuCtxGetCurrent(&context)");
    const CurrentContext current(context == nullptr ? primary->if_retained() : nullptr);
    routes.reset();
    learning.reset();
    workspaces.reset();
  }

  PrimaryContext& require_gpu() {
    if (primary) return *primary;
    throw DeviceError(fmt::format("{} is not installed: this library only plans; open one without a model to run",
                                  routes->device().name));
  }

  /// A call that runs: what was asked for, and where.
  struct Running {
    const Gemm& call;
    const GemmCall& checked;
    const Demand& demand;
    CUcontext context;
    CUstream stream;
  };

  /// Null where there is nothing to compute.
  LoadedRoutePtr enqueue(const Gemm& call, const GemmCall& checked, CUstream stream) {
    PrimaryContext& device_context = require_gpu();
    if (checked.empty()) return nullptr;
    const CurrentContext context(device_context);
    const Demand demand = demand_of(checked);
    const LoadedRoutePtr route = routes->loaded(context.get(), demand, stream);
    const Running running{call, checked, demand, context.get(), stream};
    LoadedRoutePtr ran = route->has_lessons() ? run_learning(route, running) : run(route, running);
    if (record_file) route->products.fetch_add(checked.batch, std::memory_order_relaxed);
    return ran;
  }

  /// Returns the route, which is what ran.
  LoadedRoutePtr run(LoadedRoutePtr route, const Running& running) {
    const auto& [call, checked, demand, context, stream] = running;
    const Choice& choice = route->choice;
    const auto [at_once, needed] = portion_of(choice, demand, room_of(call));
    if (call.workspace != nullptr && call.workspace_bytes < needed) {
      throw UsageError(fmt::format("workspace_bytes = {}: this call needs {}", call.workspace_bytes, needed));
    }
    std::optional<Workspaces::Lease> lease;
    if (call.workspace == nullptr && needed > 0) lease.emplace(workspaces->lease(context, stream, needed));
    for (std::int64_t i = 0; i < checked.batch; i += at_once) {
      Operands operands = operands_of(checked, i);
      if (lease) operands.workspace = lease->address();
      if (choice.fusion.batched) {
        operands.batch = Batch{std::min(at_once, checked.batch - i), checked.step_bytes};
      }
      launch(*route->kernel, choice.plan, checked.problem, operands, stream);
      if (route->finish) launch(*route->finish->kernel, route->finish->plan, checked.problem, operands, stream);
    }
    return route;
  }

  /// The call of a size that learns or has learnt. Returns what ran.
  LoadedRoutePtr run_learning(const LoadedRoutePtr& route, const Running& running) {
    if (!learns_from(running.call, running.checked)) return run(before_learning(route), running);
    if (const auto* learner = std::get_if<std::unique_ptr<Learner>>(&route->lessons)) {
      return run_learner(route, **learner, running);
    }
    const bool has_room = has_workspace(route->choice.plan.workspace.bytes(), running);
    return run(has_room ? route : before_learning(route), running);
  }

  LoadedRoutePtr run_learner(const LoadedRoutePtr& route, Learner& learner, const Running& running) {
    LearningSize& size = learner.size;
    const std::int64_t number = size.calls.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number > 1 && number < size.next_call.load(std::memory_order_relaxed)) return run(route, running);
    if (number == 1) has_workspace(most_workspace(*route), running);  // Later calls need not allocate then.
    Learning::Turn turn = learning->turn(size, number, running.stream);
    if (turn.is_last()) routes->settle(running.context, running.checked.problem, route);
    if (turn.kernel() != 0) {
      const LoadedRoutePtr& rival = learner.rivals[turn.kernel() - 1];
      if (succeeds([&] { run(rival, running); })) {
        turn.launched();
        return rival;
      }
    }
    run(route, running);
    if (turn.kernel() == 0) turn.launched();
    return route;
  }

  /// Whether the stream has so much, or gets it now.
  bool has_workspace(std::int64_t bytes, const Running& running) {
    return bytes == 0 ||
           succeeds([&] { workspaces->lease(running.context, running.stream, static_cast<std::size_t>(bytes)); });
  }

  /// False where something fails for want of which the call need not be refused.
  template <class Action>
  static bool succeeds(const Action& action) {
    try {
      action();
      return true;
    } catch (const DeviceLostError&) {
      throw;
    } catch (const Error&) {
      return false;
    }
  }

  void write_record() noexcept {
    if (!record_file || process != getpid()) return;  // A child of fork() has the counts of its parent.
    try {
      std::vector<RecordedCalls> calls;
      routes->memory().for_each([&](const Problem& problem, const LoadedRoute& route) {
        const std::int64_t products = route.products.load(std::memory_order_relaxed);
        const double seconds = static_cast<double>(products) * route.choice.expected_us * 1e-6;
        if (products > 0) calls.push_back({problem, products, seconds});
      });
      append_record(*record_file, calls);
      if (routes->memory().has_forgotten()) log::warning("MMTUNE_RECORD={}: some calls are not in it", *record_file);
    } catch (const std::exception& error) {
      log::warning("{}", error.what());
    }
  }

  const pid_t process = getpid();  ///< the process that opened it
  std::optional<std::string> record_file = env::get_path("MMTUNE_RECORD");
  std::optional<PrimaryContext> primary;  ///< nothing for a model
  std::unique_ptr<RouteLoader> routes;
  std::unique_ptr<Learning> learning = std::make_unique<Learning>();
  std::unique_ptr<Workspaces> workspaces = std::make_unique<Workspaces>();
};

Library Library::open(const LibraryOptions& options) {
  if (!options.model.empty()) return Library(std::make_unique<Impl>(options, catalog_gpu(options.model), std::nullopt));
  const int ordinal = options.device == kCurrentDevice ? current_device() : options.device;
  return Library(std::make_unique<Impl>(options, query_device(ordinal), device_at(ordinal)));
}

Library::Library(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;
Library::~Library() = default;

namespace {

Answer nothing_to_do() {
  Answer answer;
  answer.why = "there is nothing to compute";
  return answer;
}

}  // namespace

Answer Library::gemm(const Gemm& call, void* stream) {
  const LoadedRoutePtr ran = impl_->enqueue(call, check_call(call, CallPurpose::run), static_cast<CUstream>(stream));
  return ran ? impl_->routes->answer(ran->choice) : nothing_to_do();
}

void Library::enqueue(const Gemm& call, void* stream) {
  impl_->enqueue(call, check_call(call, CallPurpose::run), static_cast<CUstream>(stream));
}

void Library::enqueue(const Gemm& call, const GemmPointers& pointers, void* stream) {
  impl_->enqueue(call, check_call(call, pointers), static_cast<CUstream>(stream));
}

Answer Library::plan(const Gemm& call) const {
  const GemmCall checked = check_call(call, CallPurpose::plan);
  if (checked.empty()) return nothing_to_do();
  const PlannedRoutePtr plan = impl_->routes->planned(demand_of(checked));
  return impl_->routes->answer((learns_from(call, checked) ? plan : before_learning(plan))->choice);
}

std::size_t Library::workspace_bytes(const Gemm& call) const {
  const GemmCall checked = check_call(call, CallPurpose::plan);
  if (checked.empty()) return 0;
  // Calls with a workspace of their own run what was decided.
  return impl_->routes->workspace_bytes(demand_of(checked));
}

void Library::prepare(std::span<const Gemm> calls, void* stream) {
  PrimaryContext& primary = impl_->require_gpu();
  for (const Gemm& call : calls) {
    const GemmCall checked = check_call(call, CallPurpose::plan);
    if (checked.empty()) continue;
    const CurrentContext context(primary);
    const Demand demand = demand_of(checked);
    const LoadedRoutePtr route = impl_->routes->prepared(context.get(), demand);
    if (std::holds_alternative<std::unique_ptr<Learner>>(route->lessons)) impl_->learning->open();
    const std::size_t needed = std::max(portion_of(route->choice, demand, kBatchWorkspace).workspace_bytes,
                                        static_cast<std::size_t>(most_workspace(*route)));
    if (call.workspace != nullptr || needed == 0) continue;
    impl_->workspaces->prepare(context.get(), static_cast<CUstream>(stream), needed);
  }
}

}  // namespace mmtune
