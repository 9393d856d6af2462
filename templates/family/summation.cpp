#include "templates/family/summation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "templates/gpu/architectures.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

// The least k that is cut. Where weights have few columns, up to some hundred rows leave half of the multiprocessors
// idle unless two blocks share a tile; below it, what many rows lose by tiles that leave room for two sets of sums
// weighs more (docs/lab/2026-11-25-same-bits.md).
constexpr std::int64_t kCutFrom = 7168;
constexpr int kParts = 2;

// On CUDA cores a tile takes longer, so that a few rows need more blocks, and what a block adds at the end of a part
// weighs less. With eight parts a cluster of the largest size that every GPU has can add them up.
constexpr int kMostCoreParts = 8;
constexpr std::int64_t kLeastCorePart = 256;  // steps along k; the end of a part takes as long as three more

std::string_view name_of(Summation::Adder adder) {
  switch (adder) {
    case Summation::Adder::other:
      return "an order of its own";
    case Summation::Adder::exact:
      return "exact";
    case Summation::Adder::fma:
      return "fused multiply-adds";
    case Summation::Adder::tensor:
      return "tensor cores";
    case Summation::Adder::warp:
      return "tensor cores by a warp";
    case Summation::Adder::warpgroup:
      return "tensor cores by a warpgroup";
  }
  return "unknown";
}

/// Whether tensor cores add up invariant products. An emulation falls back to CUDA cores at times.
bool by_tensor_cores(Precision precision, int compute_capability) {
  const PrecisionTraits& types = traits(precision);
  return types.unit_products == 1 && is_of_tensor_cores(types) && compute_capability >= 75 &&
         nearest_architecture(compute_capability).rates[static_cast<std::size_t>(types.unit)] > 0;
}

}  // namespace

std::string to_string(const Summation& summation) {
  std::string text(name_of(summation.adder));
  if (summation.adder == Summation::Adder::other || summation.adder == Summation::Adder::exact) return text;
  if (summation.step > 1) text += fmt::format(", {} at once", summation.step);
  if (summation.promotion > 0) text += fmt::format(", promoted every {}", summation.promotion);
  return text + (summation.part > 0 ? fmt::format(", in parts of {}", summation.part) : ", uncut");
}

std::int64_t steps_of_part(const Problem& problem, int parts, int bk) {
  constexpr int kMostStage = 128;
  const int unit = problem.invariant ? std::max(bk, kMostStage) : bk;
  return ceil_div(ceil_div(problem.k, unit), parts) * unit;
}

std::int64_t summed_part(const Problem& problem, int parts, int bk) {
  const std::int64_t steps = steps_of_part(problem, parts, bk);
  return steps < problem.k ? steps : 0;
}

Summation tensor_summation(Precision precision, const DeviceSpec& device, bool by_warpgroup) {
  using Adder = Summation::Adder;
  const PrecisionTraits& types = traits(precision);
  const int capability = compute_capability(device);
  const Adder adder = by_warpgroup ? Adder::warpgroup : Adder::warp;
  if (types.accumulator.integer) return {.adder = Adder::exact};
  if (types.a.bytes == 8) return {.adder = Adder::warp, .step = capability == 90 ? 8 : 4};
  if (types.a.bytes == 2) return {.adder = Adder::tensor, .step = capability >= 80 ? 16 : 8};
  return {.adder = adder, .step = 32 / types.a.bytes, .promotion = types.arithmetic.promotion_steps};
}

int core_parts(const Problem& problem) {
  if (traits(problem.precision).accumulator.integer) return 1;
  const auto parts = std::clamp<std::int64_t>(problem.k / kLeastCorePart, 1, kMostCoreParts);
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(parts)));
}

int invariant_parts(const Problem& problem, int compute_capability) {
  const PrecisionTraits& types = traits(problem.precision);
  if (!by_tensor_cores(problem.precision, compute_capability)) return core_parts(problem);
  const bool is_promoted = types.arithmetic.promotion_steps > 0;  // A block would keep three sets of sums.
  const bool may_be_cut =
      compute_capability == 90 && !is_promoted && (types.a.bytes == 2 || types.unit == Unit::tensor_tf32);
  return may_be_cut && problem.k >= kCutFrom ? kParts : 1;
}

Summation invariant_summation(const Problem& problem, const DeviceSpec& device) {
  const Precision precision = problem.precision;
  const PrecisionTraits& types = traits(precision);
  if (types.accumulator.integer) return {.adder = Summation::Adder::exact};
  const int capability = compute_capability(device);
  Summation summation{.adder = Summation::Adder::fma};
  if (by_tensor_cores(precision, capability)) summation = tensor_summation(precision, device, capability == 90);
  summation.part = summed_part(problem, invariant_parts(problem, capability), 1);
  return summation;
}

}  // namespace mmtune
