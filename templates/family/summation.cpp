#include "templates/family/summation.h"

#include <fmt/format.h>

#include "templates/gpu/architectures.h"
#include "templates/problem/dtype.h"

namespace mmtune {

namespace {

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

}  // namespace

std::string to_string(const Summation& summation) {
  std::string text(name_of(summation.adder));
  if (summation.adder == Summation::Adder::other || summation.adder == Summation::Adder::exact) return text;
  if (summation.step > 1) text += fmt::format(", {} at once", summation.step);
  if (summation.promotion > 0) text += fmt::format(", promoted every {}", summation.promotion);
  return text + (summation.cut ? ", cut" : ", uncut");
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

Summation invariant_summation(Precision precision, const DeviceSpec& device) {
  const PrecisionTraits& types = traits(precision);
  if (types.accumulator.integer) return {.adder = Summation::Adder::exact};
  if (types.unit_products > 1) return {.adder = Summation::Adder::fma};  // The emulation falls back to it at times.
  const bool has_tensor_cores = types.unit != core_unit(precision) && compute_capability(device) >= 75 &&
                                fma_per_clock_per_sm(device, types.unit) > 0;
  if (!has_tensor_cores) return {.adder = Summation::Adder::fma};
  return tensor_summation(precision, device, compute_capability(device) == 90);
}

}  // namespace mmtune
