#include "tuner/study/bench.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string_view>

#include "runtime/log.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/verify.h"

namespace mmtune {
namespace {

constexpr int kLeastRounds = 15;
constexpr int kMostRounds = 45;
constexpr double kRace_us = 0.8e6;     // for all rounds, if that makes kLeastRounds
constexpr double kReplayed_us = 10e3;  // shorter calls are replayed as a graph, so that no host latency counts
constexpr int kScreenSamples = 3;
constexpr double kHopeless = 1.1;   // an algorithm this many times slower than another needs no further sample
constexpr double kNonsense = 0.05;  // no rounding makes an error this large

/// One call in the race.
struct Racer {
  Call call;
  double error = 0;
  double estimate_us = 0;
  std::size_t entry = 0;  ///< of the opponent, if it is one of theirs
};

double replay_hint(double estimate_us) { return estimate_us < kReplayed_us ? 0 : estimate_us; }

/// What one problem's calls are tried and timed with.
class Track {
 public:
  Track(Verifier& verifier, const OperandSets& sets, CUstream stream)
      : verifier_(verifier), sets_(sets), stream_(stream) {}

  /// Makes the call for the first time and judges it. `who` is for the message of an Error.
  Racer enter(const Call& call, std::string_view who) {
    Racer racer;
    racer.call = call;
    racer.error = verifier_.relative_error(call);
    if (!(racer.error < kNonsense)) {
      throw Error(
          fmt::format("{} computes something else: relative error {:.2g}, a fault of mmtune", who, racer.error));
    }
    Stopwatch once(call, sets_, std::numeric_limits<double>::infinity(), stream_);
    racer.estimate_us = once.sample_us();
    return racer;
  }

  /// The fastest of an entry's algorithms in a few samples each; nothing if none works.
  std::optional<Racer> select(const std::vector<Call>& algorithms, std::string_view who) {
    std::optional<Racer> best;
    double best_us = std::numeric_limits<double>::infinity();
    for (const Call& call : algorithms) {
      try {
        Racer racer = enter(call, who);
        const double time_us = screen(racer, best_us);
        if (time_us < best_us) {
          best_us = time_us;
          best = std::move(racer);
        }
      } catch (const DeviceLostError&) {
        throw;
      } catch (const DeviceError& error) {
        log::debug("{}: an algorithm is left out: {}", who, error.what());
      }
    }
    return best;
  }

  Stopwatch watch(const Racer& racer, double hint_us) { return {racer.call, sets_, hint_us, stream_}; }

 private:
  double screen(const Racer& racer, double best_us) {
    Stopwatch stopwatch = watch(racer, replay_hint(racer.estimate_us));
    std::vector<double> samples{stopwatch.sample_us()};
    while (samples.size() < kScreenSamples && samples.back() < kHopeless * best_us) {
      samples.push_back(stopwatch.sample_us());
    }
    return summarise(samples).median_us;
  }

  Verifier& verifier_;
  const OperandSets& sets_;
  CUstream stream_;
};

/// What a race leaves behind, racers in the order given.
struct Race {
  std::vector<std::vector<double>> samples_us;
  std::vector<Timing> timings;
  std::optional<double> sm_clock_mhz;
  std::vector<std::string> throttling;
};

Timing describe(const Stopwatch& watch, const std::vector<double>& samples_us, std::optional<double> sm_clock_mhz) {
  Timing timing = summarise(samples_us);
  timing.calls_per_sample = watch.calls_per_sample();
  timing.mode = watch.uses_graph() ? "graph" : "events";
  timing.sm_clock_mhz = sm_clock_mhz.value_or(0);
  return timing;
}

/// Every round samples each watch once, in an order of its own; the clock is read while the first one runs.
Race run_race(std::vector<Stopwatch>& watches, int rounds, const Nvml& nvml) {
  Race result;
  result.samples_us.resize(watches.size());
  std::vector<std::size_t> order(watches.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 generator(0);
  double clock_sum = 0;
  int clocks = 0;
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), generator);
    for (const std::size_t i : order) {
      watches[i].start();
      if (i == order.front()) {
        if (const auto clock = nvml.sm_clock_mhz()) {
          clock_sum += *clock;
          ++clocks;
        }
        if (round == rounds / 2) result.throttling = nvml.throttle_reasons();
      }
      result.samples_us[i].push_back(watches[i].finish_us());
    }
  }
  if (clocks > 0) result.sm_clock_mhz = clock_sum / clocks;
  for (std::size_t i = 0; i < watches.size(); ++i) {
    result.timings.push_back(describe(watches[i], result.samples_us[i], result.sm_clock_mhz));
  }
  return result;
}

/// Also the first, untimed sample of each.
int rounds_that_fit(std::vector<Stopwatch>& watches) {
  double round_us = 0;
  for (Stopwatch& watch : watches) round_us += watch.sample_us() * watch.calls_per_sample();
  return static_cast<int>(std::clamp(kRace_us / round_us, double{kLeastRounds}, double{kMostRounds}));
}

/// The first racer is ours, the others are theirs.
Comparison judge(const std::vector<Racer>& racers, const Race& race, std::size_t entries) {
  Comparison comparison;
  comparison.ours = {race.timings.front(), racers.front().error};
  comparison.theirs.resize(entries);
  comparison.sm_clock_mhz = race.sm_clock_mhz;
  comparison.throttling = race.throttling;
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < racers.size(); ++i) {
    comparison.theirs[racers[i].entry] = Comparison::Side{race.timings[i], racers[i].error};
    if (fastest == 0 || race.timings[i].median_us < race.timings[fastest].median_us) fastest = i;
  }
  if (fastest > 0) {
    comparison.best = racers[fastest].entry;
    comparison.ratio = ratio_of(race.samples_us[fastest], race.samples_us.front());
  }
  return comparison;
}

}  // namespace

Bench::Bench(const DeviceSpec& device, const Nvrtc& nvrtc, CompileTarget target, Opponent& opponent, int rounds)
    : device_(device),
      nvrtc_(nvrtc),
      target_(std::move(target)),
      opponent_(opponent),
      rounds_(rounds),
      stream_(make_stream()),
      nvml_(device.uuid) {
  if (const auto processes = nvml_.processes(); processes && *processes > 1) {
    log::warning("{} processes use this GPU; times are only comparable without the others", *processes);
  }
}

const CheckKernels& Bench::check_kernels(const Problem& problem) {
  auto& kernels = check_kernels_[{problem.precision, problem.layout}];
  if (!kernels) kernels = std::make_unique<CheckKernels>(nvrtc_, target_, problem.precision, problem.layout);
  return *kernels;
}

Comparison Bench::compare(const Problem& problem, const Program& ours) {
  const CheckKernels& kernels = check_kernels(problem);
  Verifier verifier(kernels, problem, stream_.get());
  const OperandSets sets(kernels, problem, verifier.random_operands(LaunchPlan{}), device_.l2_bytes, stream_.get());
  if (!std::exchange(warm_, true)) warm_up(kernels, problem, sets, stream_.get());

  const LaunchPlan& plan = ours.plan;
  const LoadedKernel kernel(ours.binary.cubin, plan);
  if (const Verdict verdict = verifier.check(kernel, plan); verdict.outcome != Outcome::ok) {
    throw Error(fmt::format("our kernel is wrong: {}: {}", to_string(verdict.outcome), verdict.note));
  }

  Track track(verifier, sets, stream_.get());
  std::vector<Racer> racers{
      track.enter(call_of(kernel, plan, problem, verifier.random_operands(plan).workspace), "mmtune")};
  const auto entries = opponent_.prepare(problem);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (auto racer = track.select(entries[i], opponent_.entries()[i])) {
      racer->entry = i;
      racers.push_back(std::move(*racer));
    }
  }

  double slowest_us = 0;
  for (const Racer& racer : racers) slowest_us = std::max(slowest_us, racer.estimate_us);
  std::vector<Stopwatch> watches;
  for (const Racer& racer : racers) watches.push_back(track.watch(racer, replay_hint(slowest_us)));
  const int fitting = rounds_that_fit(watches);
  return judge(racers, run_race(watches, rounds_ > 0 ? rounds_ : fitting, nvml_), entries.size());
}

}  // namespace mmtune
