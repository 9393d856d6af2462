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

#include "runtime/append_map.h"
#include "runtime/databases.h"
#include "runtime/dispatch.h"
#include "runtime/gemm_call.h"
#include "runtime/kernel_cache.h"
#include "runtime/learning.h"
#include "runtime/programs.h"

namespace mmtune {

/// What is launched after a plain product to give it an epilogue.
struct Finish {
  LaunchPlan plan;
  KernelCache::Kernel kernel;
};

/// What a call asks for, as far as it decides which program runs.
struct Demand {
  Problem problem;
  Fusion fusion = {};
  /// Of a batch, about: batches of similar size share what was worked out.
  std::int64_t products = 1;

  friend bool operator==(const Demand&, const Demand&) = default;

  /// The same for each product by itself.
  Demand unbatched() const { return {problem, fusion.unbatched(), 1}; }
};

Demand demand_of(const GemmCall& call);

/// An answer worked out: complete once `kernel` is there, until then only good for planning.
struct Ready {
  Ready(Choice chosen, Answer answered, KernelCache::Kernel loaded, std::optional<Finish> finishing, bool stopgap)
      : choice(std::move(chosen)),
        answer(std::move(answered)),
        kernel(std::move(loaded)),
        finish(std::move(finishing)),
        is_stopgap(stopgap) {}

  Choice choice;
  Answer answer;
  KernelCache::Kernel kernel;
  std::optional<Finish> finish;                    ///< where the kernel lacks the epilogue that was asked for
  bool is_stopgap = false;                         ///< better could not be loaded just now: the next call tries again
  mutable std::atomic<std::int64_t> products = 0;  ///< that it ran, where calls are recorded
  std::shared_ptr<LearningSize> learning;          ///< where calls are to tell whether another kernel is faster
  std::shared_ptr<const Ready> decided;            ///< what this replaces, where calls have told
};

using ReadyPtr = std::shared_ptr<const Ready>;

/// The same before anything was learnt from calls.
inline const ReadyPtr& before_learning(const ReadyPtr& ready) { return ready->decided ? ready->decided : ready; }

/// Workspace that suffices for whatever of its kernels a call runs.
std::int64_t most_workspace(const Ready& ready);

/// Thread safe; what is remembered is found without a lock. Must end in the context that kernels were loaded in.
class ReadyKernels {
 public:
  static constexpr std::size_t kRemembered = 1 << 14;  ///< answers; further sizes are worked out on every call
  static constexpr int kMostLearning = 1 << 11;        ///< sizes: each keeps some kilobytes

  /// Reads the databases; what is wrong with them becomes part of every answer. `installed` is the GPU that kernels are
  /// loaded on; none for a model.
  ReadyKernels(const LibraryOptions& options, DeviceSpec device, std::optional<CUdevice> installed);

  const DeviceSpec& device() const { return device_; }

  /// What would run. With an epilogue that was not prepared, what would run without it.
  ReadyPtr planned(const Demand& demand);

  /// What runs now, loaded in the current context. While the stream is captured nothing is loaded. Throws as
  /// Library::gemm.
  ReadyPtr ready(CUcontext context, const Demand& demand, CUstream stream);

  /// The same, compiled if need be.
  ReadyPtr prepared(CUcontext context, const Demand& demand);

  /// Later calls of the problem run what its race, which is over, has found. `ready` is what ran before.
  void settle(CUcontext context, const Problem& problem, const ReadyPtr& ready);

  /// Everything that is remembered.
  void for_each(const std::function<void(const Problem&, const Ready&)>& visit) const;

  /// Whether something ran that is not remembered.
  bool has_forgotten() const { return forgotten_; }

 private:
  enum class Compile { no, yes };

  struct Place {
    CUcontext context;  ///< null: planned, loaded nowhere
    Demand demand;

    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const;
  };

  StoredKernels load_databases();
  ReadyPtr remember(const Place& place, ReadyPtr ready);
  std::shared_ptr<Ready> make_ready(Choice choice, KernelCache::Kernel kernel = nullptr, bool is_stopgap = false,
                                    std::optional<Finish> finish = {}) const;
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
  std::optional<Finish> finish(CUcontext context, const Problem& problem, const Fusion& fusion, Compile compile);
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
  AppendMap<Place, ReadyPtr, PlaceHash> ready_{kRemembered};
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
