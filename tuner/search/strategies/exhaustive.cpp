// Every candidate once, in the order of the model: the yardstick for the other strategies.
#include <limits>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

constexpr std::size_t kRound = 1024;  // the candidates of a round: many for compilers and GPU, few in memory

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(const StrategySetup& setup)
      : ranking_(setup.space.ranked(std::numeric_limits<std::size_t>::max())) {}

  std::vector<CandidateNumber> propose() override {
    std::vector<CandidateNumber> candidates;
    for (; next_ < ranking_.size() && candidates.size() < kRound; ++next_) {
      candidates.push_back(ranking_[next_].number);
    }
    return candidates;
  }

  void learn(CandidateNumber, const Observation&) override {}

 private:
  std::vector<RankedCandidate> ranking_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const StrategySetup& setup) { return std::make_unique<Exhaustive>(setup); }

}  // namespace mmtune
