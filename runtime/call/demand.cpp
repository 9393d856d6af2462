#include "runtime/call/demand.h"

#include <algorithm>
#include <bit>

namespace mmtune {
namespace {

constexpr std::int64_t kManyProducts = 1 << 16;  // larger batches ask for no other kernels

/// Takes away what was appended last.
template <class T>
T take(std::uint64_t& word, int bits) {
  const std::uint64_t value = word & ((std::uint64_t{1} << bits) - 1);
  word >>= bits;
  return static_cast<T>(value);
}

}  // namespace

Demand demand_of(const GemmCall& call) {
  const auto products = static_cast<std::uint64_t>(std::min(call.batch, kManyProducts));
  return {call.problem, call.fusion, call.fusion.batched ? static_cast<std::int64_t>(std::bit_ceil(products)) : 1};
}

Problem DemandKey::problem() const {
  Problem problem;
  std::uint64_t kind = kind_;
  problem.align.c = take<int>(kind, kAlignmentBits);
  problem.align.b = take<int>(kind, kAlignmentBits);
  problem.align.a = take<int>(kind, kAlignmentBits);
  problem.invariant = take<bool>(kind, 1);
  problem.layout = take<Layout>(kind, kLayoutBits);
  problem.precision = take<Precision>(kind, kPrecisionBits);
  problem.m = m_;
  problem.n = n_;
  problem.k = k_;
  return problem;
}

}  // namespace mmtune
