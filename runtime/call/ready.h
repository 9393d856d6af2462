// What a call asks for, and the answer to it that is remembered.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/call/gemm_call.h"
#include "runtime/call/kernel_cache.h"
#include "runtime/choose/dispatch.h"
#include "runtime/learn/learning.h"

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

/// A demand and the context that it is to run in; null: planned, loaded nowhere. In few words, since every call makes,
/// hashes and compares one, which is why that is inline.
class Place {
 public:
  Place(CUcontext context, const Demand& demand)
      : context_(context),
        m_(demand.problem.m),
        n_(demand.problem.n),
        k_(demand.problem.k),
        kind_(static_cast<std::uint64_t>(demand.products)) {
    const auto append = [this](auto value, int bits) { kind_ = kind_ << bits | static_cast<std::uint64_t>(value); };
    const auto& [problem, fusion, products] = demand;
    append(fusion.activation, 8);
    append(fusion.bias, 2);
    append(fusion.loads_scalars, 1);
    append(fusion.batched, 1);
    append(problem.precision, kPrecisionBits);
    append(problem.layout, kLayoutBits);
    append(problem.align.a, kAlignmentBits);
    append(problem.align.b, kAlignmentBits);
    append(problem.align.c, kAlignmentBits);
  }

  Problem problem() const;

  friend bool operator==(const Place&, const Place&) = default;

 private:
  friend struct PlaceHash;

  static constexpr int kPrecisionBits = 8;
  static constexpr int kLayoutBits = 2;
  static constexpr int kAlignmentBits = 5;

  CUcontext context_;
  std::int64_t m_;
  std::int64_t n_;
  std::int64_t k_;
  std::uint64_t kind_;  ///< all else of the demand, the products above what was appended
};

/// The sum of the words, each times a constant: multiplications that wait for nothing. The constants are the fractions
/// of the square roots of 2, 3, 5, 7 and 11. No rational combination of these is 0, so that the sums of an arithmetic
/// progression of sizes spread evenly (H. Weyl, "Über die Gleichverteilung von Zahlen mod. Eins", 1916).
struct PlaceHash {
  std::uint64_t operator()(const Place& place) const {
    return static_cast<std::uint64_t>(place.m_) * 0x6a09e667f3bcc908 +
           static_cast<std::uint64_t>(place.n_) * 0xbb67ae8584caa73b +
           static_cast<std::uint64_t>(place.k_) * 0x3c6ef372fe94f82b +
           reinterpret_cast<std::uintptr_t>(place.context_) * 0xa54ff53a5f1d36f1 + place.kind_ * 0x510e527fade682d1;
  }
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
