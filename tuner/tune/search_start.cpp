#include "tuner/tune/search_start.h"

#include <utility>

#include "templates/family/source_hashes.h"
#include "tuner/tune/lessons.h"

namespace mmtune {

std::vector<CandidateNumber> at_hand(const CodeMemory& code, const Preparation& preparation,
                                     const FamilySpaces& spaces) {
  SourceHashes hashes(preparation.files());
  const auto is_compiled = [&](const auto& family, const Config& config) {
    const LaunchPlan plan = family.plan(spaces.problem(), config, preparation.device());
    const int target = preparation.target().compute_capability;
    return code.find(hashes.hash(family, spaces.problem(), config, plan, target)).has_value();
  };
  std::vector<CandidateNumber> numbers;
  for (Candidate& candidate : code.candidates(spaces.problem())) {
    const auto as_compiled = spaces.number(candidate);
    auto number = spaces.fitted(std::move(candidate));
    if (number != as_compiled) {  // Another SPLIT may need another program.
      const Candidate fitted = spaces.candidate(*number);
      if (!is_compiled(*fitted.family, fitted.config)) number = as_compiled;
    }
    if (number) numbers.push_back(*number);
  }
  return numbers;
}

std::unique_ptr<Strategy> begin_search(const TuningSetup& setup, const FamilySpaces& spaces,
                                       const std::vector<Candidate>& favourites) {
  const ProblemKey key = setup.preparation.key(spaces.problem());
  const std::vector<Winner> decided = comparable_winners(key, setup.store);
  std::vector<CandidateNumber> programs;
  if (setup.options.budget_s > 0) programs = at_hand(setup.code, setup.preparation, spaces);
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
