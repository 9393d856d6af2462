#include "templates/model/power.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "templates/model/correction.h"
#include "templates/model/floors.h"
#include "templates/model/numbers.h"
#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

// From here on races run at 1.4 to 1.9 instead of 1.98 GHz (docs/lab/2026-11-28-power.md).
constexpr double kHeavy_us = 10;

// Operations for each element of the three matrices. Tensor cores bound a call on an H100 from 590 on, in all types but
// FP64 (peak over bandwidth). At 246 races of bf16 took 1.007 times as long as screenings, from 367 on 1.08 to 1.19
// times (docs/lab/2026-11-23-search.md).
constexpr double kHeavyIntensity = 300;

// The time at the peak of the tensor cores from which plans differ in what the limit costs them
// (docs/lab/2026-11-29-rivals.md).
constexpr double kTellingPeak_us = 5;

bool multiplies_much(const Problem& problem) {
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n), k = static_cast<double>(problem.k);
  return is_of_tensor_cores(traits(problem.precision)) && flops(problem) >= kHeavyIntensity * (m * k + k * n + m * n);
}

}  // namespace

bool is_heavy(const Problem& problem, double call_us) { return call_us >= kHeavy_us && multiplies_much(problem); }

Power power_of(const Problem& problem, const DeviceSpec& device) {
  const double peak = peak_tflops(device, problem.precision);
  const bool tells = multiplies_much(problem) && floors(problem, peak, device).arithmetic_us >= kTellingPeak_us;
  return tells ? Power::limited : Power::ample;
}

double power_factor(const std::array<double, kBottlenecks>& shares, const DeviceSpec& device) {
  const ModelNumbers& numbers = model_numbers(device);
  const auto share = [&](Bottleneck of) { return shares[static_cast<std::size_t>(of)]; };
  return numbers.power_factor *
         std::exp(-numbers.power_of_memory * (share(Bottleneck::l2) + share(Bottleneck::memory)) -
                  numbers.power_of_shared_memory * share(Bottleneck::shared_memory));
}

double least_power_factor(const DeviceSpec& device) {
  const ModelNumbers& numbers = model_numbers(device);
  const double most_spared = std::max(numbers.power_of_memory, numbers.power_of_shared_memory);
  return std::min(1.0, kLeastOfTrees * numbers.power_factor * std::exp(-most_spared));
}

}  // namespace mmtune
