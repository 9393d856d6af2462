#include "tuner/compare/bench.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

#include "runtime/base/log.h"
#include "tuner/lanes/race_rounds.h"
#include "tuner/race/quantile.h"

namespace mmtune {
namespace {

constexpr int kLeastRounds = 15;
constexpr int kMostRounds = 45;
constexpr double kRace_us = 0.8e6;    // the time for all rounds, if that makes kLeastRounds
constexpr int kSelectionSamples = 3;  // samples of each algorithm of an entry, the fastest of which races
constexpr double kOutclassed = 1.1;   // an algorithm that is so many times slower than the fastest before it gets fewer
constexpr double kNonsense = 0.05;    // no rounding makes an error this large

/// A call that races.
struct RacingCall {
  Call call;
  double error = 0;
  std::size_t entry = 0;  ///< the entry of the opponent, if it is one of theirs
};

/// Makes a call for the first time and takes its error. `name` is for the message of an Error.
RacingCall enter(Testbed& testbed, const Call& call, std::string_view name) {
  const double error = testbed.verifier().relative_error(call);
  if (!(error < kNonsense)) {
    throw Error(fmt::format("{} computes something else: relative error {:.2g}, a fault of mmtune", name, error));
  }
  return {call, error};
}

/// The median of a few samples, or of fewer where it is clear that `best_us` is not reached.
double screen_us(Testbed& testbed, const Call& call, double best_us) {
  const double once_us = testbed.one_call_us(call);
  Stopwatch stopwatch = testbed.watch(call, once_us < kReplayed_us ? 0 : once_us);
  std::vector<double> samples{stopwatch.sample_us()};
  while (samples.size() < kSelectionSamples && samples.back() < kOutclassed * best_us) {
    samples.push_back(stopwatch.sample_us());
  }
  return summarise(samples).median_us;
}

/// The fastest of an entry's algorithms; nothing if none works.
std::optional<RacingCall> select(Testbed& testbed, const std::vector<Call>& algorithms, std::string_view name) {
  std::optional<RacingCall> best;
  double best_us = std::numeric_limits<double>::infinity();
  for (const Call& call : algorithms) {
    try {
      RacingCall racing = enter(testbed, call, name);
      const double time_us = screen_us(testbed, call, best_us);
      if (time_us < best_us) {
        best_us = time_us;
        best = std::move(racing);
      }
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceError& error) {
      log::debug("{}: an algorithm is left out: {}", name, error.what());
    }
  }
  return best;
}

/// The number of rounds that take the time of a race together.
int rounds_that_fit(std::vector<Stopwatch>& watches) {
  double round_us = 0;
  for (Stopwatch& watch : watches) round_us += watch.sample_us() * watch.calls_per_sample();
  return static_cast<int>(std::clamp(kRace_us / round_us, double{kLeastRounds}, double{kMostRounds}));
}

/// All sides run in all rounds, none of which is repeated: what is asked for is a ratio with its interval, not an
/// order.
RaceRules all_of(int rounds) {
  RaceRules rules;
  rules.least_rounds = rules.most_rounds = static_cast<std::size_t>(rounds);
  rules.most_repeats = 0;
  rules.many = std::numeric_limits<std::size_t>::max();
  return rules;
}

/// What a race came to; its first sides are ours.
struct Raced {
  std::vector<std::vector<double>> samples_us;
  std::vector<Timing> timings;
  std::optional<double> power_w;
};

/// Compares side number `mine` with those from `first_theirs` on.
Comparison judge(const std::vector<RacingCall>& sides, const Raced& raced, std::size_t mine, std::size_t first_theirs,
                 std::size_t entries) {
  Comparison comparison;
  comparison.ours = {raced.timings[mine], sides[mine].error};
  comparison.theirs.resize(entries);
  const double clock = raced.timings[mine].sm_clock_mhz;
  if (clock > 0) comparison.sm_clock_mhz = clock;
  comparison.power_w = raced.power_w;
  comparison.throttle = raced.timings[mine].throttle;
  std::optional<std::size_t> fastest;
  for (std::size_t i = first_theirs; i < sides.size(); ++i) {
    comparison.theirs[sides[i].entry] = Comparison::Side{raced.timings[i], sides[i].error};
    if (!fastest || raced.timings[i].median_us < raced.timings[*fastest].median_us) fastest = i;
  }
  if (fastest) {
    comparison.best = sides[*fastest].entry;
    comparison.ratio = ratio_of(raced.samples_us[*fastest], raced.samples_us[mine]);
  }
  return comparison;
}

/// With `rounds` of 0 there are as many as fit.
Raced race(Testbed& testbed, const Nvml& nvml, const std::vector<RacingCall>& sides, int rounds) {
  std::vector<Call> calls;
  for (const RacingCall& side : sides) calls.push_back(side.call);
  std::vector<Stopwatch> watches = testbed.line_up(calls);
  if (rounds == 0) rounds = rounds_that_fit(watches);
  Conditions conditions;
  std::vector<double> powers_w;
  const auto run = [&](std::size_t i, bool is_first) {
    watches[i].start();
    if (is_first) {  // The GPU works meanwhile.
      conditions.add(read(nvml, false), 0);
      if (const auto power_w = nvml.power_w()) powers_w.push_back(*power_w);
    }
    return RaceSample{watches[i].finish_us(), {}};
  };
  const RoundsRun done = run_rounds(
      watches.size(), run, [] { return std::chrono::nanoseconds(0); }, all_of(rounds));
  Raced raced{done.race.samples_us(), {}, std::nullopt};
  if (!powers_w.empty()) raced.power_w = mean(powers_w);
  for (std::size_t i = 0; i < watches.size(); ++i) {
    raced.timings.push_back(summarise(watches[i], raced.samples_us[i], conditions));
  }
  return raced;
}

}  // namespace

Bench::Bench(const DeviceSpec& device, const Nvrtc& nvrtc, CompileTarget target, Opponent& opponent, int rounds)
    : opponent_(opponent), rounds_(rounds), nvml_(device.uuid), testbed_(device, nvrtc, std::move(target)) {
  if (const auto processes = nvml_.processes(); processes && *processes > 1) {
    log::warning("{} processes use this GPU; times are only comparable without the others", *processes);
  }
}

std::vector<Comparison> Bench::compare(const Problem& problem, std::span<const Program> ours) {
  testbed_.begin(problem);
  std::vector<LoadedKernel> kernels;
  kernels.reserve(ours.size());
  for (const Program& program : ours) {
    const LoadedKernel& kernel = kernels.emplace_back(program.binary.cubin, program.plan);
    if (const Verdict verdict = testbed_.verifier().check(kernel, program.plan); verdict.outcome != Outcome::ok) {
      throw Error(fmt::format("our kernel is wrong: {}: {}", to_string(verdict.outcome), verdict.note));
    }
  }
  std::vector<RacingCall> sides;  // All checks come before: the workspace that calls share has grown to its size.
  for (std::size_t i = 0; i < ours.size(); ++i) {
    sides.push_back(enter(testbed_, testbed_.call_of(kernels[i], ours[i].plan), "mmtune"));
  }
  const auto entries = opponent_.prepare(problem);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (auto side = select(testbed_, entries[i], opponent_.entries()[i])) {
      side->entry = i;
      sides.push_back(std::move(*side));
    }
  }
  const Raced raced = race(testbed_, nvml_, sides, rounds_);
  std::vector<Comparison> comparisons;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    comparisons.push_back(judge(sides, raced, i, ours.size(), entries.size()));
  }
  return comparisons;
}

}  // namespace mmtune
