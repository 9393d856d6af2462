// Every candidate once, in the order of the model: the yardstick for the other strategies.
#include <limits>
#include <utility>

#include "tuner/search/strategy.h"

namespace mmtune {

std::unique_ptr<Strategy> make_exhaustive(const StrategySetup& setup) {
  std::vector<CandidateNumber> candidates;
  for (const RankedCandidate& each : setup.space.ranked(std::numeric_limits<std::size_t>::max())) {
    candidates.push_back(each.number);
  }
  return make_listed(std::move(candidates));
}

}  // namespace mmtune
