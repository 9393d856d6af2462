// Candidates drawn without preference: what a strategy must beat to be worth its lines.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

class Random final : public Strategy {
 public:
  explicit Random(const StrategySetup& setup) {
    const auto ranking = setup.space.ranked(std::numeric_limits<std::size_t>::max());
    std::vector<std::size_t> ranks(ranking.size());
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
    std::shuffle(ranks.begin(), ranks.end(), std::mt19937_64(setup.seed));
    ranks.resize(std::min(ranks.size(), static_cast<std::size_t>(setup.most_trials)));
    for (const std::size_t rank : ranks) candidates_.push_back(ranking[rank].number);
  }

  std::vector<CandidateNumber> propose() override { return std::exchange(candidates_, {}); }
  void learn(CandidateNumber, const Observation&) override {}

 private:
  std::vector<CandidateNumber> candidates_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const StrategySetup& setup) { return std::make_unique<Random>(setup); }

}  // namespace mmtune
