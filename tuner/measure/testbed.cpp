#include "tuner/measure/testbed.h"

#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "templates/model/power.h"

namespace mmtune {
namespace {

constexpr double kOneCall = std::numeric_limits<double>::infinity();  // an estimate for which no call is replayed
// Operands beyond this part of the GPU's memory may need what those before have left there.
constexpr double kLargeShare = 64;
constexpr auto kCooling = std::chrono::seconds(1);          // a GPU that idles for less keeps its clock
constexpr auto kSettling = std::chrono::milliseconds(250);  // the clocks follow the power within less

void settle(std::vector<Stopwatch>& watches) {
  const auto end = std::chrono::steady_clock::now() + kSettling;
  while (std::chrono::steady_clock::now() < end) {
    for (Stopwatch& watch : watches) watch.sample_us();
  }
}

}  // namespace

void Testbed::begin(const Problem& problem) {
  problem_ = problem;
  const bool is_large = minimal_bytes(problem) > static_cast<double>(device_.memory_bytes) / kLargeShare;
  if (is_large || memory_.bytes() > device_.memory_bytes / kShareOfMemory) memory_ = {};
  try {
    prepare();
  } catch (const OutOfMemoryError&) {
    memory_ = {};  // Others may use the GPU, too.
    prepare();
  }
  if (std::chrono::steady_clock::now() - used_ > kCooling) warm_up(check_kernels(), problem_, *sets_, stream_.get());
}

void Testbed::prepare() {
  sets_.reset();
  verifier_.reset();
  const CheckKernels& kernels = check_kernels();
  verifier_.emplace(kernels, problem_, stream_.get());
  sets_.emplace(kernels, problem_, verifier_->random_operands(LaunchPlan{}), device_, memory_, stream_.get());
}

double Testbed::one_call_us(const Call& call) { return watch(call, kOneCall).sample_us(); }

std::vector<Stopwatch> Testbed::line_up(const std::vector<Call>& calls, double heavy_sample_us) {
  double slowest_us = 0;
  for (const Call& call : calls) slowest_us = std::max(slowest_us, one_call_us(call));
  std::vector<Stopwatch> watches;
  for (const Call& call : calls) {
    watches.push_back(watch(call, slowest_us < kReplayed_us ? 0 : kOneCall));
    watches.back().sample_us();
  }
  if (!is_heavy(problem_, slowest_us)) return watches;
  for (Stopwatch& watch : watches) watch.lengthen(heavy_sample_us, slowest_us);
  settle(watches);
  return watches;
}

const CheckKernels& Testbed::check_kernels() {
  auto& kernels = check_kernels_[{problem_.precision, problem_.layout}];
  if (!kernels) kernels = std::make_unique<CheckKernels>(nvrtc_, target_, problem_.precision, problem_.layout);
  return *kernels;
}

}  // namespace mmtune
