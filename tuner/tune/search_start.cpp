#include "tuner/tune/search_start.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "templates/family/launches.h"
#include "tuner/tune/lessons.h"

namespace mmtune {
namespace {

constexpr std::size_t kAlikeAtHand = 4;  // More that are launched alike would leave others no time.

/// Of those that are launched alike the few that are expected to be fastest. Two programs may be at hand for one, with
/// its SPLIT and with another that is worse here.
std::vector<CandidateNumber> of_all_shapes(const std::set<CandidateNumber>& numbers, const FamilySpaces& spaces) {
  std::vector<RankedCandidate> ranked;
  for (const CandidateNumber each : numbers) ranked.push_back({each, spaces.predict_us(spaces.candidate(each))});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& x, const auto& y) { return x.expected_us < y.expected_us; });
  std::map<LaunchShape, std::size_t> alike;
  std::vector<CandidateNumber> some;
  for (const RankedCandidate& each : ranked) {
    const Candidate candidate = spaces.candidate(each.number);
    if (++alike[launch_shape(candidate, spaces.plan(candidate))] <= kAlikeAtHand) some.push_back(each.number);
  }
  return some;
}

}  // namespace

std::vector<CandidateNumber> at_hand(CodeMemory& code, const FamilySpaces& spaces) {
  std::set<CandidateNumber> numbers;
  const auto has_program = [&](const Candidate& candidate) { return code.has(spaces.problem(), candidate); };
  for (const Candidate& candidate : code.candidates(spaces.problem())) {
    const auto as_compiled = spaces.number(candidate);
    auto number = spaces.fitted(candidate);
    // Another SPLIT may need another program.
    if (number != as_compiled && !has_program(spaces.candidate(*number))) number = as_compiled;
    if (!number) continue;
    const Candidate split = spaces.candidate(*number);
    numbers.insert(*spaces.fitted(split, launch_parameters(*split.family, spaces.plan(split)), has_program));
  }
  return of_all_shapes(numbers, spaces);
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
                        .at_hand = std::move(programs),
                        .is_predicted = key.evidence == Evidence::predicted});
}

}  // namespace mmtune
