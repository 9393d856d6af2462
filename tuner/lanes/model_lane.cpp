// The lane for a GPU that is not installed.
#include "templates/model/cost.h"
#include "tuner/lanes/lane.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

class ModelLane final : public Lane {
 public:
  ModelLane(DeviceSpec device, std::string nvrtc) : device_(std::move(device)), nvrtc_(std::move(nvrtc)) {}

  Evidence evidence() const override { return Evidence::predicted; }

  Environment environment() override { return {"", nvrtc_, std::string(build_commit()), ""}; }

  void begin(const Problem& problem, int) override { problem_ = problem; }

  Verdict evaluate(const Program& program, double) override {
    Verdict verdict;
    Timing& timing = verdict.timing;
    timing.median_us = predict(problem_, program.plan, device_, program.binary.registers).time_us;
    timing.q1_us = timing.q3_us = timing.min_us = timing.median_us;
    timing.samples = 1;
    timing.calls_per_sample = 1;
    timing.conditions.mode = "model";
    return verdict;
  }

  RaceResult race(const std::vector<Program>& finalists) override {
    RaceResult result;
    std::vector<double> times_us;
    for (const Program& each : finalists) {
      result.verdicts.push_back(evaluate(each, 0));
      times_us.push_back(result.verdicts.back().timing.median_us);
    }
    result.placings = race_without_noise(times_us);
    return result;
  }

 private:
  DeviceSpec device_;
  std::string nvrtc_;
  Problem problem_;
};

}  // namespace

std::unique_ptr<Lane> make_model_lane(const DeviceChoice& device, std::string nvrtc) {
  return std::make_unique<ModelLane>(device.spec, std::move(nvrtc));
}

}  // namespace mmtune
