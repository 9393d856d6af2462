#include "runtime/ready.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/launch.h"

namespace mmtune {

namespace {

constexpr std::int64_t kManyProducts = 1 << 16;  // more ask for no other kernels

}  // namespace

Demand demand_of(const GemmCall& call) {
  const auto products = static_cast<std::uint64_t>(std::min(call.batch, kManyProducts));
  return {call.problem, call.fusion, call.fusion.batched ? static_cast<std::int64_t>(std::bit_ceil(products)) : 1};
}

namespace {

/// Puts a value below the bits that are there.
template <class T>
void append(std::uint64_t& word, T value, int bits) {
  word = word << bits | static_cast<std::uint64_t>(value);
}

/// Takes away what was appended last.
template <class T>
T take(std::uint64_t& word, int bits) {
  const std::uint64_t value = word & ((std::uint64_t{1} << bits) - 1);
  word >>= bits;
  return static_cast<T>(value);
}

// Bits: of 64, the products of a batch get what is left over.
constexpr int kEnumeration = 8;
constexpr int kAlignment = 5;

}  // namespace

Place::Place(CUcontext context, const Demand& demand)
    : context_(context), m_(demand.problem.m), n_(demand.problem.n), k_(demand.problem.k) {
  const auto& [problem, fusion, products] = demand;
  kind_ = static_cast<std::uint64_t>(products);
  append(kind_, fusion.activation, kEnumeration);
  append(kind_, fusion.bias, 2);
  append(kind_, fusion.loads_scalars, 1);
  append(kind_, fusion.batched, 1);
  append(kind_, problem.precision, kEnumeration);
  append(kind_, problem.layout, 2);
  append(kind_, problem.align.a, kAlignment);
  append(kind_, problem.align.b, kAlignment);
  append(kind_, problem.align.c, kAlignment);
}

Problem Place::problem() const {
  Problem problem;
  std::uint64_t kind = kind_;
  problem.align.c = take<int>(kind, kAlignment);
  problem.align.b = take<int>(kind, kAlignment);
  problem.align.a = take<int>(kind, kAlignment);
  problem.layout = take<Layout>(kind, 2);
  problem.precision = take<Precision>(kind, kEnumeration);
  problem.m = m_;
  problem.n = n_;
  problem.k = k_;
  return problem;
}

/// The sum of the words, each times a constant: multiplications that wait for nothing. The constants are the fractions
/// of the square roots of 2, 3, 5, 7 and 11. No rational combination of these is 0, so that the sums of an arithmetic
/// progression of sizes spread evenly (H. Weyl, "Über die Gleichverteilung von Zahlen mod. Eins", 1916).
std::uint64_t PlaceHash::operator()(const Place& place) const {
  return static_cast<std::uint64_t>(place.m_) * 0x6a09e667f3bcc908 +
         static_cast<std::uint64_t>(place.n_) * 0xbb67ae8584caa73b +
         static_cast<std::uint64_t>(place.k_) * 0x3c6ef372fe94f82b +
         reinterpret_cast<std::uintptr_t>(place.context_) * 0xa54ff53a5f1d36f1 + place.kind_ * 0x510e527fade682d1;
}

Portion portion_of(const Choice& choice, const Demand& demand, std::int64_t room) {
  const std::int64_t most = choice.fusion.batched ? products_at_once(choice.plan, room) : 1;
  const std::int64_t products = std::min(most, demand.products);
  return {products, static_cast<std::size_t>(batch_workspace_bytes(choice.plan, products))};
}

Choice with(const Fusion& fusion, Choice choice) {
  if (choice.fusion == fusion) return choice;
  choice.fusion = fusion;
  choice.binary_hash.clear();
  choice.measured = false;
  choice.why += fmt::format("; compiled with {}", to_string(fusion));
  return choice;
}

}  // namespace mmtune
