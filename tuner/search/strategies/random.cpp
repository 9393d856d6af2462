// Candidates drawn without preference: what a strategy must beat to be worth its lines.
#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "tuner/search/strategy.h"

namespace mmtune {

std::unique_ptr<Strategy> make_random(const StrategySetup& setup) {
  std::vector<RankedCandidate> drawn = setup.space.ranked(std::numeric_limits<std::size_t>::max());
  std::shuffle(drawn.begin(), drawn.end(), std::mt19937_64(setup.seed));
  drawn.resize(std::min(drawn.size(), static_cast<std::size_t>(setup.most_trials)));
  std::vector<CandidateNumber> candidates;
  for (const RankedCandidate& each : drawn) candidates.push_back(each.number);
  return make_listed(std::move(candidates));
}

}  // namespace mmtune
