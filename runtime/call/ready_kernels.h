// From a problem to a kernel that is loaded: chosen by the decisions, read from the databases or compiled, remembered.
#pragma once

#include <mmtune/mmtune.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/call/append_map.h"
#include "runtime/call/databases.h"
#include "runtime/call/kernel_cache.h"
#include "runtime/call/programs.h"
#include "runtime/call/ready.h"
#include "runtime/choose/dispatch.h"

namespace mmtune {

/// Thread safe; what is remembered is found without a lock. Must end in the context that kernels were loaded in.
class ReadyKernels {
 public:
  static constexpr std::size_t kRemembered = 1 << 17;  ///< answers; further sizes are worked out on every call
  static constexpr int kMostLearning = 1 << 11;        ///< sizes: each keeps some kilobytes

  /// Reads the databases; what is wrong with them becomes part of every answer. `installed` is the GPU that kernels are
  /// loaded on; none for a model.
  ReadyKernels(const LibraryOptions& options, DeviceSpec device, std::optional<CUdevice> installed);

  const DeviceSpec& device() const { return device_; }

  /// What would run. With an epilogue that was not prepared, what would run without it.
  ReadyPtr planned(const Demand& demand);

  /// Of a launch of it, in memory of the library, before anything is learnt from calls.
  std::size_t workspace_bytes(const Demand& demand);

  /// What runs now, loaded in the current context. While the stream is captured nothing is loaded. Throws as
  /// Library::gemm.
  ReadyPtr ready(CUcontext context, const Demand& demand, CUstream stream);

  /// The same, compiled if need be.
  ReadyPtr prepared(CUcontext context, const Demand& demand);

  /// Later calls of the problem run what its race, which is over, has found. `ready` is what ran before.
  void settle(CUcontext context, const Problem& problem, const ReadyPtr& ready);

  /// What is told of it: texts, which are made now.
  Answer answer(const Ready& ready) const;

  /// Everything that is remembered.
  void for_each(const std::function<void(const Problem&, const Ready&)>& visit) const;

  /// Whether something ran that is not remembered.
  bool has_forgotten() const { return forgotten_; }

 private:
  enum class Compile { no, yes };

  /// With its key it fills a cache line.
  struct Remembered {
    ReadyPtr ready;
    std::size_t workspace_bytes = 0;
  };

  StoredKernels load_databases();
  ReadyPtr known(CUcontext context, const Demand& demand) const;
  void put(CUcontext context, const Demand& demand, ReadyPtr ready);
  ReadyPtr remember(CUcontext context, const Demand& demand, ReadyPtr ready);
  void forget();
  ReadyPtr with_rivals(CUcontext context, const Problem& problem, ReadyPtr decided);
  std::vector<ReadyPtr> rivals_of(CUcontext context, const Problem& problem, const Ready& decided);
  KernelCache::Kernel load(CUcontext context, const Choice& choice, const Problem& problem, Compile compile);
  KernelCache::Kernel loaded(CUcontext context, const Choice& choice, const Problem& problem);
  ReadyPtr load_or_fall_back(CUcontext context, const Choice& choice, const Problem& problem, Compile compile);
  ReadyPtr ready_in_capture(CUcontext context, const Problem& problem);
  ReadyPtr ready_fused(CUcontext context, const Demand& demand, CUstream stream);
  ReadyPtr ready_in_two_kernels(CUcontext context, const Demand& demand, CUstream stream, std::string_view why);
  KernelCache::Kernel fused(CUcontext context, const Choice& choice, const Problem& problem, Compile compile,
                            std::string& why);
  ReadyPtr ready_batched(CUcontext context, const Demand& demand, CUstream stream);
  ReadyPtr prepared_batched(CUcontext context, const Demand& demand);
  ReadyPtr planned_batched(const Demand& demand);
  Choice batch_choice(const Demand& demand, bool may_compile);
  ReadyPtr one_by_one(const Ready& each, std::string_view why, bool is_stopgap) const;
  std::shared_ptr<const Finish> finish(CUcontext context, const Problem& problem, const Fusion& fusion,
                                       Compile compile);
  void prepare_fallback(CUcontext context, const Problem& problem, Compile compile);
  double model_us(const Choice& choice, const Demand& demand) const;
  double model_us(const LaunchPlan& plan, const Demand& demand) const;
  std::optional<Choice> to_compile(const Demand& demand) const;
  std::optional<Choice> first_pick(const Demand& demand);
  Choice chosen(const Problem& problem) const;
  Error nothing_to_run(const Problem& problem) const;
  void warn_of_fallback(const Problem& problem, std::string_view why);

  bool compile_missing_;
  bool compile_untuned_;
  bool learn_;
  std::optional<CUdevice> installed_;
  DatabasePlaces places_;
  LockBudget lock_budget_;
  std::string note_;  ///< what is wrong with the databases
  DeviceSpec device_;
  Programs programs_;
  DispatchTable table_;
  KernelCache kernels_;
  AppendMap<Place, Remembered, PlaceHash> ready_;
  std::atomic<bool> warned_of_fallback_ = false;
  std::atomic<bool> forgotten_ = false;
  std::atomic<CUcontext> learning_context_ = nullptr;  ///< the first one: events belong to a context
  std::atomic<int> learning_sizes_ = 0;

  /// What tells problems apart that one program may serve where nothing is tuned.
  using Kind = std::tuple<Precision, Layout, int, int, int, bool, bool, bool, bool>;
  std::mutex picks_mutex_;
  std::map<Kind, std::optional<Choice>> picks_;
};

}  // namespace mmtune
