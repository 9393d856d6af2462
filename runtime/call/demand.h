// What a call asks for, as far as it decides which programs run, and the key under which the answer is remembered.
#pragma once

#include <cstdint>

#include "runtime/call/gemm_call.h"
#include "templates/problem/fusion.h"

namespace mmtune {

/// What a call asks for. Whatever restricts which kernels may serve a call is a member here and a part of DemandKey:
/// routes are listed, kernels chosen and answers remembered by nothing else.
struct Demand {
  Problem problem;
  Fusion fusion = {};
  /// The products of a batch, rounded up to a power of two, at most 2^16: batches of similar size share an answer.
  std::int64_t products = 1;

  friend bool operator==(const Demand&, const Demand&) = default;

  /// The demand of each product alone.
  Demand unbatched() const { return {problem, fusion.unbatched(), 1}; }
};

Demand demand_of(const GemmCall& call);

/// A demand and the context in which it runs; null for a plan, which is loaded nowhere. It has few words, since every
/// call makes, hashes and compares one, which is why that is inline.
class DemandKey {
 public:
  DemandKey(CUcontext context, const Demand& demand)
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
    append(problem.invariant, 1);
    append(problem.align.a, kAlignmentBits);
    append(problem.align.b, kAlignmentBits);
    append(problem.align.c, kAlignmentBits);
  }

  Problem problem() const;

  friend bool operator==(const DemandKey&, const DemandKey&) = default;

 private:
  friend struct DemandHash;

  static constexpr int kPrecisionBits = 8;
  static constexpr int kLayoutBits = 2;
  static constexpr int kAlignmentBits = 5;

  CUcontext context_;
  std::int64_t m_;
  std::int64_t n_;
  std::int64_t k_;
  std::uint64_t kind_;  ///< all else of the demand: the products above the bits of what was appended
};

/// The sum of the words, each times a constant: multiplications that wait for nothing. The constants are the fractions
/// of the square roots of 2, 3, 5, 7 and 11. No rational combination of these is 0, so that the sums of an arithmetic
/// progression of sizes spread evenly (H. Weyl, "Über die Gleichverteilung von Zahlen mod. Eins", 1916).
struct DemandHash {
  std::uint64_t operator()(const DemandKey& key) const {
    return static_cast<std::uint64_t>(key.m_) * 0x6a09e667f3bcc908 +
           static_cast<std::uint64_t>(key.n_) * 0xbb67ae8584caa73b +
           static_cast<std::uint64_t>(key.k_) * 0x3c6ef372fe94f82b +
           reinterpret_cast<std::uintptr_t>(key.context_) * 0xa54ff53a5f1d36f1 + key.kind_ * 0x510e527fade682d1;
  }
};

}  // namespace mmtune
