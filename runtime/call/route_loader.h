// Finds the route that a demand's calls take: what is remembered, or the first of its routes that can be taken.
#pragma once

#include <mmtune/error.h>
#include <mmtune/mmtune.h>

#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/call/databases.h"
#include "runtime/call/kernels.h"
#include "runtime/call/learners.h"
#include "runtime/call/loaded_route.h"
#include "runtime/call/route.h"
#include "runtime/call/route_memory.h"
#include "runtime/choose/dispatch.h"
#include "runtime/choose/untuned_picks.h"

namespace mmtune {

/// Thread safe; what is remembered is found without a lock. Must end in the context that kernels were loaded in.
class RouteLoader {
 public:
  /// Reads the databases; what is wrong with them becomes part of every answer. `installed` is the GPU that kernels are
  /// loaded on; none for a model.
  RouteLoader(const LibraryOptions& options, DeviceSpec device, std::optional<CUdevice> installed);

  const DeviceSpec& device() const { return device_; }
  const RouteMemory& memory() const { return memory_; }

  /// What would run. With an epilogue that was not prepared, what would run without it.
  PlannedRoutePtr planned(const Demand& demand);

  /// The bytes of workspace of a launch, in memory of the library, before anything is learnt from calls.
  std::size_t workspace_bytes(const Demand& demand);

  /// What runs now, loaded in the current context. While the stream is captured nothing is loaded. Throws as
  /// Library::gemm.
  LoadedRoutePtr loaded(CUcontext context, const Demand& demand, CUstream stream);

  /// The same, compiled if need be.
  LoadedRoutePtr prepared(CUcontext context, const Demand& demand);

  /// Later calls of the problem run what its race, which is over, has found. `route` is what ran before.
  void settle(CUcontext context, const Problem& problem, const LoadedRoutePtr& route);

  /// What is told of a choice: texts, which are made now.
  Answer answer(const Choice& choice) const;

 private:
  struct Permission {
    Purpose purpose;
    Access access;
  };

  /// Why a route cannot be taken.
  struct Obstacle {
    std::string why;
    bool passes = false;                 ///< whether the next call may find it gone
    std::exception_ptr error = nullptr;  ///< null where the permission does not suffice
  };

  /// Why a route is not the one before it, as answers say it.
  struct Reasons {
    std::string each;      ///< why it takes a launch for each product
    std::string finish;    ///< why it takes a second kernel
    std::string fallback;  ///< why it takes the fallback
  };

  /// The route that was taken.
  struct Taken {
    Choice choice;
    LoadedKernelPtr kernel;  ///< null for a plan
    std::optional<Finish> finish;
    bool is_untuned = false;    ///< whether nothing stored can run it: the fallback runs, or what is compiled instead
    bool is_unplanned = false;  ///< whether a plan would say otherwise
    bool is_stopgap = false;    ///< whether something before it may be possible for the next call
  };

  StoredKernels load_databases();
  Taken take(CUcontext context, const Demand& demand, const Permission& permission);
  std::optional<Choice> to_compile(const Demand& part, const Permission& permission);
  void choose(const Route& route, const Permission& permission, const Reasons& reasons, Taken& taken);
  /// Throws Error where an invariant product would be added up in another order.
  void check_promise(const Problem& problem, const Choice& choice) const;
  std::optional<Obstacle> load(CUcontext context, const Demand& part, const Permission& permission, Taken& taken);
  Finish finish(CUcontext context, const Route& route, const Permission& permission, std::string_view why);
  [[noreturn]] void refuse(const Demand& part, const Permission& permission, const Obstacle& obstacle) const;
  Error nothing_to_run(const Problem& problem) const;
  LoadedRoutePtr remember(CUcontext context, const Demand& demand, Taken taken, Access access);
  void prepare_others(CUcontext context, const Demand& demand, const Taken& taken);
  void warn_of_fallback(const Problem& problem, std::string_view why);

  bool compile_missing_;
  bool compile_untuned_;
  bool learn_;
  std::optional<CUdevice> installed_;
  DatabasePlaces places_;
  LockBudget lock_budget_;
  std::string note_;  ///< what is wrong with the databases
  DeviceSpec device_;
  Kernels kernels_;
  DispatchTable table_;
  UntunedPicks picks_;
  Learners learners_;
  RouteMemory memory_;
  std::atomic<bool> warned_of_fallback_ = false;
};

}  // namespace mmtune
