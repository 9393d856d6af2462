// The lane for a GPU that is not installed.
#include "templates/cost.h"
#include "tuner/lanes/lane.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

class ModelLane final : public Lane {
 public:
  ModelLane(DeviceSpec device, std::string nvrtc) : device_(std::move(device)), nvrtc_(std::move(nvrtc)) {}

  Evidence evidence() const override { return Evidence::predicted; }

  Environment environment() override { return {"", nvrtc_, std::string(build_commit()), ""}; }

  void begin(const Problem& problem) override { problem_ = problem; }

  Evaluation evaluate(const Candidate& candidate, const Binary& binary, double) override {
    Evaluation evaluation;
    evaluation.timing = timing(candidate, binary);
    return evaluation;
  }

  std::vector<Finish> race(const std::vector<Contender>& contenders) override {
    std::vector<Finish> finishes;
    std::vector<double> times_us;
    for (const Contender& each : contenders) {
      Finish& finish = finishes.emplace_back();
      finish.timing = timing(each.candidate, each.binary);
      times_us.push_back(finish.timing.median_us);
    }
    const std::vector<Placing> placings = race_without_noise(times_us);
    for (std::size_t i = 0; i < finishes.size(); ++i) finishes[i].placing = placings[i];
    return finishes;
  }

 private:
  Timing timing(const Candidate& candidate, const Binary& binary) const {
    Timing timing;
    timing.median_us = predict(problem_, candidate.plan, device_, binary.registers).time_us;
    timing.q1_us = timing.q3_us = timing.min_us = timing.median_us;
    timing.samples = 1;
    timing.calls_per_sample = 1;
    timing.mode = "model";
    return timing;
  }

  DeviceSpec device_;
  std::string nvrtc_;
  Problem problem_;
};

}  // namespace

std::unique_ptr<Lane> make_model_lane(const DeviceChoice& device, std::string nvrtc) {
  return std::make_unique<ModelLane>(device.spec, std::move(nvrtc));
}

}  // namespace mmtune
