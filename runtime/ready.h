// What a call asks for, and the answer to it that is remembered.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/dispatch.h"
#include "runtime/gemm_call.h"
#include "runtime/kernel_cache.h"
#include "runtime/learning.h"

namespace mmtune {

/// What a call asks for, as far as it decides which program runs.
struct Demand {
  Problem problem;
  Fusion fusion = {};
  /// Of a batch, about: batches of similar size share what was worked out. A power of two, at most 2^16.
  std::int64_t products = 1;

  friend bool operator==(const Demand&, const Demand&) = default;

  /// The same for each product by itself.
  Demand unbatched() const { return {problem, fusion.unbatched(), 1}; }
};

Demand demand_of(const GemmCall& call);

/// A demand and the context that it is to run in; null: planned, loaded nowhere. In few words, since every call hashes
/// and compares one.
class Place {
 public:
  Place(CUcontext context, const Demand& demand);

  Problem problem() const;

  friend bool operator==(const Place&, const Place&) = default;

 private:
  friend struct PlaceHash;

  CUcontext context_;
  std::int64_t m_;
  std::int64_t n_;
  std::int64_t k_;
  std::uint64_t kind_ = 0;  ///< all else of the demand
};

struct PlaceHash {
  std::uint64_t operator()(const Place& place) const;
};

/// The choice as a program with an epilogue, which no database has and whose time nobody measured.
Choice with(const Fusion& fusion, Choice choice);

/// What of a call is one launch of each step.
struct Portion {
  std::int64_t products;
  std::size_t workspace_bytes;
};

/// As many products as have a part of `room` bytes of workspace. About: batches of similar size need the same.
Portion portion_of(const Choice& choice, const Demand& demand, std::int64_t room);

inline constexpr std::int64_t kBatchWorkspace = 64 << 20;  ///< bytes that the library takes for several products

/// What is launched after a plain product to give it an epilogue.
struct Finish {
  LaunchPlan plan;
  KernelCache::Kernel kernel;
};

struct Ready;

/// Points to what is owned, or without an owner to what is remembered, which lives as long as the ReadyKernels: owners
/// are counted, and threads that count at one place take turns.
using ReadyPtr = std::shared_ptr<const Ready>;

/// An answer worked out: complete once `kernel` is there, until then only good for planning.
struct Ready {
  explicit Ready(Choice chosen, KernelCache::Kernel loaded = nullptr, bool stopgap = false,
                 std::shared_ptr<const Finish> finishing = nullptr)
      : choice(std::move(chosen)), kernel(std::move(loaded)), finish(std::move(finishing)), is_stopgap(stopgap) {}

  Choice choice;
  KernelCache::Kernel kernel;
  std::shared_ptr<const Finish> finish;            ///< where the kernel lacks the epilogue that was asked for
  bool is_stopgap = false;                         ///< better could not be loaded just now: the next call tries again
  mutable std::atomic<std::int64_t> products = 0;  ///< that it ran, where calls are recorded
  std::shared_ptr<LearningSize> learning;          ///< where calls are to tell whether another kernel is faster
  ReadyPtr decided;                                ///< what this replaces, where calls have told
};

/// The same before anything was learnt from calls.
inline const ReadyPtr& before_learning(const ReadyPtr& ready) { return ready->decided ? ready->decided : ready; }

/// Workspace that suffices for whatever of its kernels a call runs.
std::int64_t most_workspace(const Ready& ready);

}  // namespace mmtune
