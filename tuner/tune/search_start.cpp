#include "tuner/tune/search_start.h"

#include <utility>

#include "tuner/tune/lessons.h"

namespace mmtune {
namespace {

/// The candidates whose programs this run has compiled for other sizes. What they are depends on the time that
/// compilers took, so that only a run does with them whose searches end by the clock anyway.
std::vector<CandidateNumber> at_hand(const TuningSetup& setup, const FamilySpaces& spaces) {
  std::vector<CandidateNumber> numbers;
  if (setup.options.budget_s <= 0) return numbers;
  for (Candidate& candidate : setup.code.candidates(spaces.problem())) {
    if (const auto number = spaces.fitted(std::move(candidate))) numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::unique_ptr<Strategy> begin_search(const TuningSetup& setup, const FamilySpaces& spaces,
                                       const std::vector<Candidate>& favourites) {
  const ProblemKey key = setup.preparation.key(spaces.problem());
  const std::vector<Winner> decided = comparable_winners(key, setup.store);
  return make_strategy(strategy_of(setup.options, key.evidence),
                       {.space = spaces,
                        .most_trials = setup.effort.most_trials,
                        .seed = setup.options.seed,
                        .favourites = spaces.numbers(favourites),
                        .lessons = nearest_stored(key, decided, setup.preparation, setup.store),
                        .proven = proven(spaces, decided),
                        .at_hand = at_hand(setup, spaces)});
}

}  // namespace mmtune
