// The lane for an installed GPU.
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "runtime/nvml.h"
#include "tuner/lanes/lane.h"
#include "tuner/lanes/race_rounds.h"
#include "tuner/measure/conditions.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/verify.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

constexpr double kTooSlow = 4.0;         // a launch this many times slower than the best is not timed at all,
constexpr double kTooSlowIfLong = 1.15;  // nor this many times if it is long: then one launch tells almost as much
constexpr double kLong_us = 5e3;
constexpr double kSlow = 1.12;  // no more than one sample is taken beyond this
constexpr int kScreenSamples = 5;
constexpr double kScreen_us = 50e3;                          // but no longer than this for a candidate
constexpr auto kRaceTime = std::chrono::milliseconds(2500);  // for all rounds of a race, but for the least
constexpr double kReplayed_us = 10e3;  // shorter finalists are replayed as graphs, so that no host latency counts
constexpr double kLeastLooks = 4;      // launches of a finalist that are looked at after the race,
constexpr double kMostLooks = 16;
constexpr double kLooks_us = 100e3;  // which take no longer than this, but for the least

class GpuLane final : public Lane {
 public:
  GpuLane(const DeviceChoice& device, const Nvrtc& nvrtc, CompileTarget target)
      : device_(device.spec),
        gpu_(device.ordinal),
        nvml_(device.spec.uuid),
        nvrtc_(nvrtc),
        target_(std::move(target)),
        stream_(make_stream()) {}

  Evidence evidence() const override { return Evidence::measured; }

  Environment environment() override {
    const DriverVersion driver = driver_version();
    return {driver.release.empty() ? driver.cuda : driver.release, nvrtc_.version(), std::string(build_commit()),
            device_.uuid};
  }

  void begin(const Problem& problem) override {
    read_limits();
    sets_.reset();
    verifier_.reset();
    problem_ = problem;
    const CheckKernels& kernels = check_kernels();
    verifier_.emplace(kernels, problem_, stream_.get());
    sets_.emplace(kernels, problem_, verifier_->random_operands(LaunchPlan{}), device_.l2_bytes, stream_.get());
    if (!std::exchange(warm_, true)) warm_up(kernels, problem_, *sets_, stream_.get());
  }

  Verdict evaluate(const Program& program, double best_us) override {
    Verdict verdict;
    try {
      const LoadedKernel kernel(program.binary.cubin, program.plan);
      verdict = verifier_->check(kernel, program.plan);
      if (verdict.outcome == Outcome::ok) time(kernel, program.plan, best_us, verdict);
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceError& error) {
      verdict.outcome = Outcome::launch_failed;
      verdict.note = error.what();
      verdict.timing = {};
    }
    return verdict;
  }

  RaceResult race(const std::vector<Program>& finalists) override {
    read_limits();
    std::vector<LoadedKernel> kernels;
    for (const Program& each : finalists) {
      kernels.emplace_back(each.binary.cubin, each.plan);
      verifier_->random_operands(each.plan);  // the workspace grows here, so that no graph loses it below
    }
    std::vector<Stopwatch> watches = line_up(kernels, finalists);
    const auto run = [&](std::size_t i, bool count_processes) {
      watches[i].start();
      const Reading reading = read(nvml_, count_processes);  // while the GPU works
      return RaceSample{watches[i].finish_us(), reading};
    };
    const auto end = std::chrono::steady_clock::now() + kRaceTime;
    const auto [race, conditions] =
        run_rounds(watches.size(), run, [end] { return std::chrono::steady_clock::now() >= end; });
    RaceResult result{{}, race.placings()};
    for (std::size_t i = 0; i < watches.size(); ++i) {
      Verdict& verdict = result.verdicts.emplace_back();
      verdict.timing = describe(watches[i], race.samples_us()[i], conditions[i]);
      if (result.placings[i].standing != Standing::slower) look_again(kernels[i], finalists[i].plan, verdict);
    }
    return result;
  }

 private:
  /// Not for every candidate: to ask takes a millisecond, and only an administrator changes them.
  void read_limits() {
    clock_limit_mhz_ = nvml_.clock_limit_mhz().value_or(0);
    power_limit_w_ = nvml_.power_limit_w().value_or(0);
  }

  const CheckKernels& check_kernels() {
    auto& kernels = check_kernels_[{problem_.precision, problem_.layout}];
    if (!kernels) kernels = std::make_unique<CheckKernels>(nvrtc_, target_, problem_.precision, problem_.layout);
    return *kernels;
  }

  Stopwatch watch(const LoadedKernel& kernel, const LaunchPlan& plan, double estimate_us) {
    return {call_of(kernel, plan, problem_, verifier_->random_operands(plan).workspace), *sets_, estimate_us,
            stream_.get()};
  }

  /// All are timed in the same mode, after one untimed sample each.
  std::vector<Stopwatch> line_up(const std::vector<LoadedKernel>& kernels, const std::vector<Program>& finalists) {
    constexpr double kOneCall = std::numeric_limits<double>::infinity();
    double slowest_us = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      slowest_us = std::max(slowest_us, watch(kernels[i], finalists[i].plan, kOneCall).sample_us());
    }
    std::vector<Stopwatch> watches;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      watches.push_back(watch(kernels[i], finalists[i].plan, slowest_us < kReplayed_us ? 0 : kOneCall));
      watches.back().sample_us();
    }
    return watches;
  }

  /// `verdict` is that of a check, whose one launch tells which programs are not worth more.
  void time(const LoadedKernel& kernel, const LaunchPlan& plan, double best_us, Verdict& verdict) {
    const double launch_us = verdict.timing.median_us;
    const double hopeless = launch_us > kLong_us ? kTooSlowIfLong : kTooSlow;
    if (best_us > 0 && launch_us > hopeless * best_us && launch_us > 50) {
      verdict.outcome = Outcome::too_slow;
      return;
    }
    screen(kernel, plan, best_us > 0 ? kSlow * best_us : std::numeric_limits<double>::infinity(), verdict);
    Verdict after = verifier_->check_after_timing();
    if (after.outcome == Outcome::ok && verdict.outcome == Outcome::ok) {
      after = verifier_->check_again(kernel, plan, 1, verifier_->bits_of_c());
      verdict.deterministic = after.deterministic;
    }
    if (after.outcome != Outcome::ok) {
      verdict.outcome = after.outcome;
      verdict.note = "after timing: " + after.note;
    }
  }

  void look_again(const LoadedKernel& kernel, const LaunchPlan& plan, Verdict& verdict) {
    const double launches = std::clamp(kLooks_us / verdict.timing.median_us, kLeastLooks, kMostLooks);
    const Verdict seen = verifier_->check_again(kernel, plan, static_cast<int>(launches));
    verdict.outcome = seen.outcome;
    verdict.deterministic = seen.deterministic;
    if (seen.outcome != Outcome::ok) verdict.note = "after the race: " + seen.note;
  }

  /// One sample to warm up, unless the checks' launches were long enough for that, and some that count; the first
  /// beyond `limit_us` is the last.
  void screen(const LoadedKernel& kernel, const LaunchPlan& plan, double limit_us, Verdict& verdict) {
    const double launch_us = verdict.timing.median_us;
    Stopwatch stopwatch = watch(kernel, plan, launch_us);
    const bool is_warm = launch_us > kLong_us;
    std::vector<double> samples{is_warm ? launch_us : stopwatch.sample_us()};
    Conditions conditions;
    if (is_warm || samples.back() <= limit_us) {
      const auto most = static_cast<int>(kScreen_us / (samples.back() * stopwatch.calls_per_sample()));
      samples.clear();
      stopwatch.start();
      const Reading reading = read(nvml_, true);
      samples.push_back(stopwatch.finish_us());
      for (int i = 1; i < std::clamp(most, 2, kScreenSamples) && samples.back() <= limit_us; ++i) {
        samples.push_back(stopwatch.sample_us());
      }
      conditions.add(reading, disturbs(reading) ? static_cast<int>(samples.size()) : 0);
    }
    if (samples.back() > limit_us) verdict.outcome = Outcome::too_slow;
    verdict.timing = describe(stopwatch, samples, conditions);
  }

  Timing describe(const Stopwatch& stopwatch, const std::vector<double>& samples, const Conditions& conditions) const {
    Timing timing = summarise(samples);
    timing.calls_per_sample = stopwatch.calls_per_sample();
    timing.mode = stopwatch.uses_graph() ? "graph" : "events";
    conditions.describe(timing);
    timing.clock_limit_mhz = clock_limit_mhz_;
    timing.power_limit_w = power_limit_w_;
    return timing;
  }

  DeviceSpec device_;
  Gpu gpu_;
  Nvml nvml_;
  const Nvrtc& nvrtc_;
  CompileTarget target_;
  Stream stream_;
  Problem problem_;
  bool warm_ = false;
  int clock_limit_mhz_ = 0;
  double power_limit_w_ = 0;
  std::map<std::pair<Precision, Layout>, std::unique_ptr<CheckKernels>> check_kernels_;
  std::optional<Verifier> verifier_;
  std::optional<OperandSets> sets_;
};

}  // namespace

std::unique_ptr<Lane> make_gpu_lane(const DeviceChoice& device, const Nvrtc& nvrtc, const CompileTarget& target) {
  return std::make_unique<GpuLane>(device, nvrtc, target);
}

}  // namespace mmtune
