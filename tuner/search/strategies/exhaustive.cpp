// Every point worth trying once, in the order of the model: the yardstick for the other strategies.
#include <limits>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

constexpr std::size_t kRound = 1024;  // enough to keep compilers and GPU busy, few enough to hold their sources

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(const StrategySetup& setup)
      : ranking_(setup.spaces.ranked(std::numeric_limits<std::size_t>::max())) {}

  std::vector<Point> propose() override {
    std::vector<Point> points;
    for (; next_ < ranking_.size() && points.size() < kRound; ++next_) points.push_back(ranking_[next_]);
    return points;
  }

  void learn(const Point&, const Trial&) override {}

 private:
  Ranking ranking_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const StrategySetup& setup) { return std::make_unique<Exhaustive>(setup); }

}  // namespace mmtune
