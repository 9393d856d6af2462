#include "tuner/tune/shares.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "templates/base/order.h"
#include "templates/model/floors.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/deadlines.h"

namespace mmtune {
namespace {

constexpr double kTrial_s = 0.015;    // the time of compiling and checking, beside what the GPU needs
constexpr double kCallsOfATrial = 8;  // the number of calls, at peak rates, that a trial takes of the GPU's time

// A guided search tries fewer candidates where calls are long: see tuner/search/strategies/guided.cpp.
constexpr double kMostTrial_s = 0.065;
constexpr double kFewestTrials = 20;

// What drivers say of equal cards may differ.
constexpr int kClock_mhz = 2000;
constexpr double kBandwidthPerSm_gb_s = 20;

/// The device with rates that are the same for all cards of a DeviceKey.
DeviceSpec nominal(DeviceSpec device) {
  device.core_clock_mhz = kClock_mhz;
  device.memory_bandwidth_gb_s = kBandwidthPerSm_gb_s * device.sm_count;
  return device;
}

double least_us(const Problem& problem, const DeviceSpec& device) {
  return floors(problem, peak_tflops(device, problem.precision), device).least_us();
}

/// Longest first. Which of equally long ones comes first must not depend on how the list was written.
bool comes_before(const ExpectedWork& x, const ExpectedWork& y) {
  return x.expected_ms != y.expected_ms ? x.expected_ms > y.expected_ms : compare(x.problem, y.problem) < 0;
}

}  // namespace

std::int64_t expected_tuning_ms(const SessionOptions& options, const DeviceChoice& device, const Problem& problem) {
  const std::string strategy = strategy_of(options, evidence_of(device));
  auto trials = static_cast<double>(configurations(options, device.spec, problem));
  if (strategy != "exhaustive") trials = std::min<double>(trials, effort_named(options.effort).most_trials);
  double trial_s = kTrial_s;
  if (evidence_of(device) == Evidence::measured) {
    const double gpu_s = kCallsOfATrial * least_us(problem, nominal(device.spec)) * 1e-6;
    if (strategy == "guided") {
      trials = std::min(trials, std::max(kFewestTrials, trials * kMostTrial_s / gpu_s));
    }
    trial_s += gpu_s;
  }
  constexpr double kMost_s = 1e9;
  return std::llround(1e3 * std::min(kMost_s, kExpectedRace_s + trials * trial_s));
}

std::vector<int> distribute(const std::vector<ExpectedWork>& work, int count) {
  using Load = std::pair<std::int64_t, int>;  // the load of a share, and its number
  std::priority_queue<Load, std::vector<Load>, std::greater<>> shares;
  for (int number = 1; number <= count; ++number) shares.push({0, number});
  std::vector<int> numbers(work.size());
  const auto before = [&](std::size_t x, std::size_t y) { return comes_before(work[x], work[y]); };
  for (const std::size_t each : places_in_order(work.size(), before)) {
    const auto [load_ms, number] = shares.top();
    shares.pop();
    numbers[each] = number;
    shares.push({load_ms + work[each].expected_ms, number});
  }
  return numbers;
}

std::vector<Problem> problems_of(const SessionOptions& options, const Share& share) {
  std::vector<ExpectedWork> work;
  for (const Problem& problem : options.problems) work.push_back({problem, 0});
  for (const DeviceChoice& model : models_of(options.devices)) {
    for (ExpectedWork& each : work) each.expected_ms += expected_tuning_ms(options, model, each.problem);
  }
  const std::vector<int> numbers = distribute(work, share.count);
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == share.number) problems.push_back(options.problems[i]);
  }
  return problems;
}

}  // namespace mmtune
