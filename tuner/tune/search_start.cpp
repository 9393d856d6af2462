#include "tuner/tune/search_start.h"

#include <utility>

#include "tuner/tune/lessons.h"

namespace mmtune {

std::vector<CandidateNumber> at_hand(CodeMemory& code, const FamilySpaces& spaces) {
  std::vector<CandidateNumber> numbers;
  for (Candidate& candidate : code.candidates(spaces.problem())) {
    const auto as_compiled = spaces.number(candidate);
    auto number = spaces.fitted(std::move(candidate));
    // Another SPLIT may need another program.
    if (number != as_compiled && !code.has(spaces.problem(), spaces.candidate(*number))) number = as_compiled;
    if (number) numbers.push_back(*number);
  }
  return numbers;
}

std::unique_ptr<Strategy> begin_search(const TuningSetup& setup, const FamilySpaces& spaces,
                                       const std::vector<Candidate>& favourites) {
  const ProblemKey key = setup.preparation.key(spaces.problem());
  const std::vector<Winner> decided = comparable_winners(key, setup.store);
  std::vector<CandidateNumber> programs;
  if (setup.options.budget_s > 0) programs = at_hand(setup.code, spaces);
  return make_strategy(strategy_of(setup.options, key.evidence),
                       {.space = spaces,
                        .most_trials = setup.effort.most_trials,
                        .seed = setup.options.seed,
                        .favourites = spaces.numbers(favourites),
                        .lessons = nearest_stored(key, decided, setup.preparation, setup.store),
                        .proven = proven(spaces, decided),
                        .at_hand = std::move(programs)});
}

}  // namespace mmtune
