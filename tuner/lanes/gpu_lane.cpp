// The lane for an installed GPU.
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "runtime/gpu/nvml.h"
#include "templates/model/power.h"
#include "tuner/lanes/lane.h"
#include "tuner/lanes/race_rounds.h"
#include "tuner/measure/conditions.h"
#include "tuner/measure/testbed.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

// A program whose first launch takes at least kTimed_us is not timed where that launch is kTooSlow times slower than
// the best; for a launch beyond kLong_us, which tells almost as much as a sample, kTooSlowIfLong times is enough. A
// shorter one is repeated: the first of some programs whose blocks form clusters takes 1 or 2 ms more.
constexpr double kTooSlow = 4.0;
constexpr double kTooSlowIfLong = 1.15;
constexpr double kLong_us = 5e3;
constexpr double kTimed_us = 50;

// A screening takes fewer samples where they would take longer than kScreen_us together, and stops at the first that is
// kSlow times slower than the best, kSlowIfHeavy times if calls are heavy: no less than may still win. A sample takes
// at least kLeastSample_us, although a first launch that took long asks for few calls.
constexpr double kScreen_us = 40e3;
constexpr double kLeastSample_us = 250;
constexpr double kSlow = 1.12;
constexpr double kSlowIfHeavy = 1.2;

// A screening of heavy calls takes half as many samples. Each, also in a race, is so long that the power of the kernel
// itself decides at which clock it is timed, and not that of the one before.
constexpr double kHeavySample_us = 3e3;

// Launches of a finalist that are verified after the race: as many as take kLooks_us, within these bounds.
constexpr double kLooks_us = 100e3;
constexpr double kLeastLooks = 4;
constexpr double kMostLooks = 16;

class GpuLane final : public Lane {
 public:
  GpuLane(const DeviceChoice& device, const Nvrtc& nvrtc, const CompileTarget& target)
      : device_(device.spec),
        gpu_(device.ordinal),
        nvml_(device.spec.uuid),
        nvrtc_(nvrtc),
        testbed_(device.spec, nvrtc, target) {}

  Evidence evidence() const override { return Evidence::measured; }

  Environment environment() override {
    const DriverVersion driver = driver_version();
    return {driver.release.empty() ? driver.cuda : driver.release, nvrtc_.version(), std::string(build_commit()),
            device_.uuid};
  }

  void begin(const Problem& problem, int samples) override {
    samples_ = samples;
    read_limits();
    testbed_.begin(problem);
  }

  Verdict evaluate(const Program& program, double best_us) override {
    Verdict verdict;
    try {
      const LoadedKernel kernel(program.binary.cubin, program.plan);
      verdict = testbed_.verifier().check(kernel, program.plan);
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
      testbed_.verifier().random_operands(each.plan);  // The workspace grows here, so that no call loses it below.
    }
    std::vector<Call> calls;
    for (std::size_t i = 0; i < kernels.size(); ++i) calls.push_back(testbed_.call_of(kernels[i], finalists[i].plan));
    std::vector<Stopwatch> watches = testbed_.line_up(calls, kHeavySample_us);
    const auto run = [&](std::size_t i, bool count_processes) {
      watches[i].start();
      const Reading reading = read(nvml_, count_processes);  // The GPU works meanwhile.
      return RaceSample{watches[i].finish_us(), reading};
    };
    const auto begin = std::chrono::steady_clock::now();
    const auto [race, conditions] =
        run_rounds(watches.size(), run, [begin] { return std::chrono::steady_clock::now() - begin; });
    RaceResult result{{}, race.placings()};
    for (std::size_t i = 0; i < watches.size(); ++i) {
      Verdict& verdict = result.verdicts.emplace_back();
      verdict.timing = describe(watches[i], race.samples_us()[i], conditions[i]);
      if (is_as_fast(result.placings[i])) look_again(kernels[i], finalists[i].plan, verdict);
    }
    return result;
  }

 private:
  /// Reads the limits once and not for every candidate: it takes a millisecond, and only an administrator changes them.
  void read_limits() {
    clock_limit_mhz_ = nvml_.clock_limit_mhz().value_or(0);
    power_limit_w_ = nvml_.power_limit_w().value_or(0);
  }

  /// `verdict` is that of a check, whose one launch tells which programs are not worth more.
  void time(const LoadedKernel& kernel, const LaunchPlan& plan, double best_us, Verdict& verdict) {
    double& launch_us = verdict.timing.median_us;
    const auto is_hopeless = [&] {
      const double hopeless = launch_us > kLong_us ? kTooSlowIfLong : kTooSlow;
      return best_us > 0 && launch_us > hopeless * best_us && launch_us > kTimed_us;
    };
    if (is_hopeless() && launch_us < kLong_us) launch_us = testbed_.one_call_us(testbed_.call_of(kernel, plan));
    if (is_hopeless()) {
      verdict.outcome = Outcome::too_slow;
      return;
    }
    const double slow = is_heavy(testbed_.problem(), best_us) ? kSlowIfHeavy : kSlow;
    screen(kernel, plan, best_us > 0 ? slow * best_us : std::numeric_limits<double>::infinity(), verdict);
    Verifier& verifier = testbed_.verifier();
    Verdict after = verifier.check_after_timing();
    if (after.outcome == Outcome::ok && verdict.outcome == Outcome::ok) {
      after = verifier.check_again(kernel, plan, 1, verifier.bits_of_c());
      verdict.deterministic = after.deterministic;
    }
    if (after.outcome != Outcome::ok) {
      verdict.outcome = after.outcome;
      verdict.note = "after timing: " + after.note;
    }
  }

  void look_again(const LoadedKernel& kernel, const LaunchPlan& plan, Verdict& verdict) {
    const double launches = std::clamp(kLooks_us / verdict.timing.median_us, kLeastLooks, kMostLooks);
    const Verdict seen = testbed_.verifier().check_again(kernel, plan, static_cast<int>(launches));
    verdict.outcome = seen.outcome;
    verdict.deterministic = seen.deterministic;
    if (seen.outcome != Outcome::ok) verdict.note = "after the race: " + seen.note;
  }

  /// One sample to warm up, unless the checks' launches were long enough for that, and some that count; the first
  /// beyond `limit_us` is the last.
  void screen(const LoadedKernel& kernel, const LaunchPlan& plan, double limit_us, Verdict& verdict) {
    const double launch_us = verdict.timing.median_us;
    Stopwatch stopwatch = testbed_.watch(testbed_.call_of(kernel, plan), launch_us);
    const bool is_warm = launch_us > kLong_us;
    std::vector<double> samples{is_warm ? launch_us : stopwatch.sample_us()};
    if (!is_warm) stopwatch.lengthen(kLeastSample_us, samples.back());
    Conditions conditions;
    if (is_warm || samples.back() <= limit_us) {
      const bool heavy = is_heavy(testbed_.problem(), samples.back());
      if (heavy) stopwatch.lengthen(kHeavySample_us, samples.back());
      const auto most = static_cast<int>(kScreen_us / (samples.back() * stopwatch.calls_per_sample()));
      samples.clear();
      stopwatch.start();
      const Reading reading = read(nvml_, true);
      samples.push_back(stopwatch.finish_us());
      const int wanted = std::clamp(most, 1, heavy ? (samples_ + 1) / 2 : samples_);
      for (int i = 1; i < wanted && samples.back() <= limit_us; ++i) {
        samples.push_back(stopwatch.sample_us());
      }
      conditions.add(reading, disturbs(reading) ? static_cast<int>(samples.size()) : 0);
    }
    if (samples.back() > limit_us) verdict.outcome = Outcome::too_slow;
    verdict.timing = describe(stopwatch, samples, conditions);
  }

  Timing describe(const Stopwatch& stopwatch, const std::vector<double>& samples, const Conditions& conditions) const {
    Timing timing = summarise(stopwatch, samples, conditions);
    timing.conditions.clock_limit_mhz = clock_limit_mhz_;
    timing.conditions.power_limit_w = power_limit_w_;
    return timing;
  }

  DeviceSpec device_;
  Gpu gpu_;
  Nvml nvml_;
  const Nvrtc& nvrtc_;
  Testbed testbed_;
  int samples_ = kScreenSamples;
  int clock_limit_mhz_ = 0;
  double power_limit_w_ = 0;
};

}  // namespace

std::unique_ptr<Lane> make_gpu_lane(const DeviceChoice& device, const Nvrtc& nvrtc, const CompileTarget& target) {
  return std::make_unique<GpuLane>(device, nvrtc, target);
}

}  // namespace mmtune
