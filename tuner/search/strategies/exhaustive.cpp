// Every candidate worth trying once, in the order of the model: the yardstick for the other strategies.
#include <limits>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

constexpr std::size_t kRound = 1024;  // enough to keep compilers and GPU busy, few enough to hold their sources

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(const StrategySetup& setup)
      : ranking_(setup.spaces.ranked(std::numeric_limits<std::size_t>::max())) {}

  std::vector<Candidate> propose() override {
    std::vector<Candidate> candidates;
    for (; next_ < ranking_.size() && candidates.size() < kRound; ++next_) candidates.push_back(ranking_[next_]);
    return candidates;
  }

  void learn(const Candidate&, const Trial&) override {}

 private:
  Ranking ranking_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const StrategySetup& setup) { return std::make_unique<Exhaustive>(setup); }

}  // namespace mmtune
