// Points drawn without preference: what a strategy must beat to be worth its lines.
#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "tuner/strategy.h"

namespace mmtune {
namespace {

class Random final : public Strategy {
 public:
  explicit Random(const StrategySetup& setup) : points_(setup.spaces.ranked(std::numeric_limits<std::size_t>::max())) {
    std::mt19937_64 generator(setup.seed);
    std::shuffle(points_.begin(), points_.end(), generator);
    const auto most = static_cast<std::size_t>(setup.effort.most_trials);
    if (points_.size() > most) points_.resize(most);
  }

  std::vector<Point> propose() override { return std::exchange(points_, {}); }
  void learn(const Point&, const Trial&) override {}

 private:
  std::vector<Point> points_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const StrategySetup& setup) { return std::make_unique<Random>(setup); }

}  // namespace mmtune
