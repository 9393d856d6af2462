// Every point worth trying once, in the order of the model: the yardstick for the other strategies.
#include <limits>
#include <utility>

#include "tuner/strategy.h"

namespace mmtune {
namespace {

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(const StrategySetup& setup)
      : points_(setup.spaces.ranked(std::numeric_limits<std::size_t>::max())) {}

  std::vector<Point> propose() override { return std::exchange(points_, {}); }
  void learn(const Point&, const Trial&) override {}

 private:
  std::vector<Point> points_;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const StrategySetup& setup) { return std::make_unique<Exhaustive>(setup); }

}  // namespace mmtune
