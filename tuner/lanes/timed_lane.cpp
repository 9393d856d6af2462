#include "tuner/lanes/timed_lane.h"

#include <chrono>
#include <utility>

namespace mmtune {
namespace {

/// Adds the time of its life, however that ends.
class Stretch {
 public:
  explicit Stretch(double& total_s) : total_s_(total_s) {}
  ~Stretch() { total_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;

 private:
  double& total_s_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class TimedLane final : public Lane {
 public:
  TimedLane(std::unique_ptr<Lane> lane, LaneTimes& times) : lane_(std::move(lane)), times_(times) {}

  Evidence evidence() const override { return lane_->evidence(); }
  Environment environment() override { return lane_->environment(); }
  void begin(const Problem& problem, int samples) override { lane_->begin(problem, samples); }

  Verdict evaluate(const Program& program, double best_us) override {
    const Stretch stretch(times_.judging_s);
    return lane_->evaluate(program, best_us);
  }

  RaceResult race(const std::vector<Program>& finalists) override {
    const Stretch stretch(times_.racing_s);
    return lane_->race(finalists);
  }

 private:
  std::unique_ptr<Lane> lane_;
  LaneTimes& times_;
};

}  // namespace

std::unique_ptr<Lane> make_timed_lane(std::unique_ptr<Lane> lane, LaneTimes& times) {
  return std::make_unique<TimedLane>(std::move(lane), times);
}

}  // namespace mmtune
