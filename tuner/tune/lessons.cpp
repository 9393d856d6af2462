#include "tuner/tune/lessons.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "runtime/choose/dispatch.h"
#include "templates/family/families.h"
#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

constexpr double kAlike = 0.5;  // the octaves within which what won is as right here as it was there

Lesson lesson_of(const Trial& trial, const DeviceSpec& device) {
  const Candidate candidate{&family_named(trial.key.family), Config::parse(trial.key.config)};
  return {describe(candidate, trial.key.problem, device), trial.timing.median_us};
}

/// Whether the same tiles are right in both, of some sizes: tensor cores multiply 16 and 8 bits of floating point
/// alike, twice as many of the latter at once.
bool are_related(Precision x, Precision y) {
  return multiplies_narrow_floats(traits(x)) && multiplies_narrow_floats(traits(y));
}

struct Known {
  bool is_alike;
  double octaves;
  const Family* family;
  std::string_view config;
};

std::vector<CandidateNumber> numbers_of(const FamilySpaces& spaces, std::vector<Known> known, std::size_t most) {
  std::stable_sort(known.begin(), known.end(), [](const Known& x, const Known& y) {
    return std::tuple(!x.is_alike, x.octaves) < std::tuple(!y.is_alike, y.octaves);
  });
  std::vector<CandidateNumber> numbers;
  for (const Known& each : known) {
    if (numbers.size() == most) break;
    const Candidate candidate{each.family, each.family->with_defaults(Config::parse(each.config), spaces.problem())};
    const bool is_right_here = each.is_alike && each.octaves < kAlike;
    const auto number = is_right_here ? spaces.number(candidate) : spaces.fitted(candidate);
    if (number && std::find(numbers.begin(), numbers.end(), *number) == numbers.end()) numbers.push_back(*number);
  }
  return numbers;
}

/// What the spaces' families have proven for the precision and those alike, and for related ones too if `with_related`.
std::vector<Known> proven_rows(const FamilySpaces& spaces, bool with_related) {
  const Problem& problem = spaces.problem();
  std::vector<Known> known;
  for (const SearchSpace& space : spaces.spaces()) {
    for (const Proven& each : space.family().proven()) {
      const bool is_alike = are_alike(each.precision, problem.precision);
      if (!is_alike && !(with_related && are_related(each.precision, problem.precision))) continue;
      const Problem where = packed_problem(problem.precision, problem.layout, each.m, each.n, each.k);
      known.push_back({is_alike, octaves_apart(problem, where), &space.family(), each.config});
    }
  }
  return known;
}

}  // namespace

// The library picks kernels by another distance (runtime/choose/nearest.h): that one orders kernels by how well they
// run here, to which every extent adds, k less than the others, and alignment too; this one orders problems by how much
// a search of one says about the other, where programs are the same and the extent that differs most decides what
// limits them.
double octaves_apart(const Problem& x, const Problem& y) {
  const auto octaves = [](std::int64_t a, std::int64_t b) {
    const auto log = [](std::int64_t extent) {
      return std::log2(static_cast<double>(std::max<std::int64_t>(1, extent)));
    };
    return std::abs(log(a) - log(b));
  };
  return std::max({octaves(x.m, y.m), octaves(x.n, y.n), octaves(x.k, y.k)});
}

bool same_programs_serve(const Problem& x, const Problem& y) {
  return x.precision == y.precision && x.layout == y.layout && x.invariant == y.invariant && x.align == y.align;
}

std::optional<std::size_t> nearest(const Problem& problem, const std::vector<Problem>& others) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Problem& other = others[i];
    if (other == problem || !same_programs_serve(problem, other)) continue;
    if (!best || octaves_apart(problem, other) <= octaves_apart(problem, others[*best])) best = i;
  }
  return best;
}

Observation observation_of(const Trial& trial) {
  switch (trial.outcome) {
    case Outcome::ok:
      return {Observation::Kind::timed, trial.timing.median_us};
    case Outcome::too_slow:
      return {Observation::Kind::too_slow, trial.timing.median_us};
    default:
      return {};
  }
}

std::vector<Lesson> fastest(std::vector<Lesson> lessons) {
  std::stable_sort(lessons.begin(), lessons.end(),
                   [](const Lesson& x, const Lesson& y) { return x.time_us < y.time_us; });
  if (lessons.size() > kLessons) lessons.erase(lessons.begin() + kLessons, lessons.end());
  return lessons;
}

std::vector<Trial> fastest_stored(const ProblemKey& problem, const Preparation& preparation, Store& store,
                                  std::size_t most) {
  std::vector<Trial> trials =
      store.trials({.device = problem.device, .problem = problem.problem, .evidence = problem.evidence});
  std::erase_if(trials, [](const Trial& trial) { return trial.outcome != Outcome::ok; });
  std::stable_sort(trials.begin(), trials.end(),
                   [](const Trial& x, const Trial& y) { return x.timing.median_us < y.timing.median_us; });
  std::vector<Trial> found;
  CurrentSources sources(preparation.device(), preparation.files());
  for (Trial& trial : trials) {
    if (found.size() == most) break;
    if (preparation.makes(trial.key, sources)) found.push_back(std::move(trial));
  }
  return found;
}

std::vector<CandidateNumber> proven(const FamilySpaces& spaces, const std::vector<Winner>& decided, std::size_t most) {
  std::vector<Known> known = proven_rows(spaces, false);
  for (const SearchSpace& space : spaces.spaces()) {
    for (const Winner& winner : decided) {
      const TrialKey& key = winner.trial.key;
      if (key.family != space.family().name()) continue;
      known.push_back({true, octaves_apart(spaces.problem(), key.problem), &space.family(), key.config});
    }
  }
  return numbers_of(spaces, std::move(known), most);
}

std::vector<CandidateNumber> proven_in_all_widths(const FamilySpaces& spaces) {
  return numbers_of(spaces, proven_rows(spaces, true), std::numeric_limits<std::size_t>::max());
}

std::vector<Winner> comparable_winners(const ProblemKey& problem, Store& store) {
  return store.winners({.device = problem.device,
                        .precision = problem.problem.precision,
                        .layout = problem.problem.layout,
                        .evidence = problem.evidence});
}

void Favourites::add(Candidate winner) {
  constexpr std::size_t kMost = 3;
  candidates_.insert(candidates_.begin(), std::move(winner));
  if (candidates_.size() > kMost) candidates_.pop_back();
}

std::vector<Lesson> nearest_stored(ProblemKey problem, const std::vector<Winner>& decided,
                                   const Preparation& preparation, Store& store) {
  std::vector<Problem> problems;
  for (const Winner& winner : decided) problems.push_back(winner.trial.key.problem);
  const auto near = nearest(problem.problem, problems);
  if (!near) return {};
  problem.problem = problems[*near];
  std::vector<Lesson> lessons;
  for (const Trial& trial : fastest_stored(problem, preparation, store, kLessons)) {
    lessons.push_back(lesson_of(trial, preparation.device()));
  }
  return lessons;
}

}  // namespace mmtune
