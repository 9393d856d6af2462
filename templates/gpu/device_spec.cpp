#include "templates/gpu/device_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "templates/gpu/architectures.h"

namespace mmtune {
namespace {

/// Products that GeForce GPUs' tensor cores add to fp32 sums at half rate.
bool sums_in_fp32(Unit unit) {
  return unit == Unit::tensor_tf32 || unit == Unit::tensor_fp16 || unit == Unit::tensor_bf16 ||
         unit == Unit::tensor_fp8;
}

}  // namespace

int fma_per_clock_per_sm(const DeviceSpec& device, Unit unit) {
  const int rate = nearest_architecture(compute_capability(device)).rates[static_cast<std::size_t>(unit)];
  const bool halved = sums_in_fp32(unit) && device.name.find("GeForce") != std::string::npos;
  return halved ? rate / 2 : rate;
}

double peak_tflops(const DeviceSpec& device, Unit unit) {
  return 2.0 * fma_per_clock_per_sm(device, unit) * device.sm_count * device.core_clock_mhz * 1e6 / 1e12;
}

double peak_tflops(const DeviceSpec& device, Precision precision) {
  const PrecisionTraits& types = traits(precision);
  if (fma_per_clock_per_sm(device, types.unit) == 0) return peak_tflops(device, core_unit(precision));
  return peak_tflops(device, types.unit) / types.unit_products;
}

CompileTarget compile_target(const DeviceSpec& device, const std::vector<int>& supported) {
  const int wanted = compute_capability(device);
  CompileTarget target;
  for (const int cc : supported) {
    if (cc / 10 == device.cc_major && cc <= wanted) target.compute_capability = cc;
  }
  if (target.compute_capability == 0 && !supported.empty()) {
    target.compute_capability = *std::min_element(supported.begin(), supported.end());
  }
  target.exact = target.compute_capability == wanted;
  target.name = fmt::format("sm_{}{}", target.compute_capability, target.compute_capability >= 90 ? "a" : "");
  return target;
}

}  // namespace mmtune
