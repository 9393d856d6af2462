// The lane for an installed GPU.
#include <mmtune/error.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "tuner/lane.h"
#include "tuner/measure.h"
#include "tuner/verify.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

constexpr double kHopeless = 4.0;  // a launch this many times slower than the best is not timed at all
constexpr double kSlow = 1.25;     // nor is more than one sample taken beyond this
constexpr int kScreenSamples = 5;
constexpr double kScreen_us = 100e3;  // but no longer than this for a candidate
constexpr int kRaceRounds = 15;
constexpr double kRace_us = 1.5e6;  // for all rounds of a race

class GpuLane final : public Lane {
 public:
  GpuLane(const DeviceChoice& device, const Nvrtc& nvrtc, CompileTarget target)
      : device_(device.spec), gpu_(device.ordinal), nvrtc_(nvrtc), target_(std::move(target)), stream_(make_stream()) {}

  Evidence evidence() const override { return Evidence::measured; }

  Environment environment() override {
    const DriverVersion driver = driver_version();
    return {driver.release.empty() ? driver.cuda : driver.release, nvrtc_.version(), std::string(build_commit()),
            device_.uuid};
  }

  void begin(const Problem& problem) override {
    sets_.reset();
    verifier_.reset();
    problem_ = problem;
    const CheckKernels& kernels = check_kernels();
    verifier_.emplace(kernels, problem_, stream_.get());
    sets_.emplace(kernels, problem_, verifier_->random_operands(LaunchPlan{}), device_.l2_bytes, stream_.get());
    if (!std::exchange(warm_, true)) warm_up(kernels, problem_, *sets_, stream_.get());
  }

  Evaluation evaluate(const Candidate& candidate, const Binary& binary, double best_us) override {
    Evaluation evaluation;
    try {
      const LoadedKernel kernel(binary.cubin, candidate.plan);
      const Verdict verdict = verifier_->check(kernel, candidate.plan);
      evaluation.outcome = verdict.outcome;
      evaluation.note = verdict.note;
      evaluation.error_share = verdict.error_share;
      if (verdict.outcome == Outcome::ok) time(kernel, candidate.plan, verdict.launch_us, best_us, evaluation);
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceError& error) {
      evaluation.outcome = Outcome::launch_failed;
      evaluation.note = error.what();
    }
    return evaluation;
  }

  std::vector<Timing> race(const std::vector<Contender>& contenders) override {
    std::vector<LoadedKernel> kernels;
    for (const Contender& each : contenders) {
      kernels.emplace_back(each.binary.cubin, each.candidate.plan);
      verifier_->random_operands(each.candidate.plan);  // the workspace grows here, so that no graph loses it below
    }
    std::vector<Stopwatch> watches;
    double round_us = 0;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      watches.push_back(watch(kernels[i], contenders[i].candidate.plan, 0));
      round_us += watches.back().sample_us() * watches.back().calls_per_sample();
    }
    const int rounds = std::clamp(static_cast<int>(kRace_us / round_us), 5, kRaceRounds);
    std::vector<std::vector<double>> samples(contenders.size());
    std::vector<std::size_t> order(contenders.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 generator(0);
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(order.begin(), order.end(), generator);
      for (const std::size_t i : order) samples[i].push_back(watches[i].sample_us());
    }
    std::vector<Timing> timings;
    for (std::size_t i = 0; i < contenders.size(); ++i) timings.push_back(describe(watches[i], samples[i]));
    return timings;
  }

 private:
  const CheckKernels& check_kernels() {
    auto& kernels = check_kernels_[{problem_.precision, problem_.layout}];
    if (!kernels) kernels = std::make_unique<CheckKernels>(nvrtc_, target_, problem_.precision, problem_.layout);
    return *kernels;
  }

  Stopwatch watch(const LoadedKernel& kernel, const LaunchPlan& plan, double estimate_us) {
    return {call_of(kernel, plan, problem_, verifier_->random_operands(plan).workspace), *sets_, estimate_us,
            stream_.get()};
  }

  void time(const LoadedKernel& kernel, const LaunchPlan& plan, double launch_us, double best_us,
            Evaluation& evaluation) {
    if (best_us > 0 && launch_us > kHopeless * best_us && launch_us > 50) {
      evaluation.outcome = Outcome::too_slow;
      evaluation.timing = summarise({launch_us});
      evaluation.timing.mode = "events";
      return;
    }
    Stopwatch stopwatch = watch(kernel, plan, launch_us);
    std::vector<double> samples;
    const double warm = stopwatch.sample_us();
    const auto most = static_cast<int>(kScreen_us / (warm * stopwatch.calls_per_sample()));
    for (int i = 0; i < std::clamp(most, 2, kScreenSamples); ++i) {
      samples.push_back(stopwatch.sample_us());
      if (best_us > 0 && samples.back() > kSlow * best_us) {
        evaluation.outcome = Outcome::too_slow;
        break;
      }
    }
    evaluation.timing = describe(stopwatch, samples);
    const Verdict after = verifier_->check_after_timing();
    if (after.outcome != Outcome::ok) {
      evaluation.outcome = after.outcome;
      evaluation.note = "after timing: " + after.note;
    }
  }

  Timing describe(const Stopwatch& stopwatch, const std::vector<double>& samples) const {
    Timing timing = summarise(samples);
    timing.calls_per_sample = stopwatch.calls_per_sample();
    timing.mode = stopwatch.uses_graph() ? "graph" : "events";
    return timing;
  }

  DeviceSpec device_;
  Gpu gpu_;
  const Nvrtc& nvrtc_;
  CompileTarget target_;
  Stream stream_;
  Problem problem_;
  bool warm_ = false;
  std::map<std::pair<Precision, Layout>, std::unique_ptr<CheckKernels>> check_kernels_;
  std::optional<Verifier> verifier_;
  std::optional<OperandSets> sets_;
};

}  // namespace

std::unique_ptr<Lane> make_gpu_lane(const DeviceChoice& device, const Nvrtc& nvrtc, const CompileTarget& target) {
  return std::make_unique<GpuLane>(device, nvrtc, target);
}

}  // namespace mmtune
