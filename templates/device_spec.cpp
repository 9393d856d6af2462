#include "templates/device_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace mmtune {

namespace {

bool one_of(int cc, std::initializer_list<int> list) { return std::find(list.begin(), list.end(), cc) != list.end(); }

// CUDA C++ Programming Guide, "Arithmetic Instructions", table "Throughput of Native Arithmetic Instructions", rows
// "32-bit floating-point add, multiply, multiply-add", "64-bit floating-point …" and "32-bit integer multiply, …".
int fp32_rate(int cc) {
  if (cc < 50) return 192;
  return one_of(cc, {60, 70, 72, 75, 80}) ? 64 : 128;
}

int fp64_rate(int cc) {
  if (one_of(cc, {35, 37, 90, 100})) return 64;
  if (one_of(cc, {60, 70, 72, 80})) return 32;
  if (cc < 50) return 8;
  return cc < 70 ? 4 : 2;
}

// Compute capabilities 5.x and 6.x have no 32-bit multiply-add: the table says "multiple instructions", which are three
// 16-bit XMADs at the fp32 rate.
int int32_rate(int cc) {
  if (cc < 50) return 32;
  return cc < 70 ? fp32_rate(cc) / 3 : 64;
}

}  // namespace

int fma_per_clock_per_sm(const DeviceSpec& device, Precision precision) {
  const int cc = compute_capability(device);
  switch (precision) {
    case Precision::fp64:
      return fp64_rate(cc);
    case Precision::int32:
      return int32_rate(cc);
    default:
      return fp32_rate(cc);
  }
}

double peak_tflops(const DeviceSpec& device, Precision precision) {
  return 2.0 * fma_per_clock_per_sm(device, precision) * device.sm_count * device.core_clock_mhz * 1e6 / 1e12;
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
