#include "tuner/tune/lessons.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "templates/families.h"

namespace mmtune {
namespace {

Lesson lesson_of(const Trial& trial, const DeviceSpec& device) {
  const Family& family = family_named(trial.key.family);
  Config config = Config::parse(trial.key.config);
  const Prediction prediction = predict(family, trial.key.problem, config, device);
  return {{&family, std::move(config), prediction.time_us}, prediction, trial.timing.median_us};
}

}  // namespace

double octaves_apart(const Problem& x, const Problem& y) {
  const auto octaves = [](std::int64_t a, std::int64_t b) {
    const auto log = [](std::int64_t extent) {
      return std::log2(static_cast<double>(std::max<std::int64_t>(1, extent)));
    };
    return std::abs(log(a) - log(b));
  };
  return std::max({octaves(x.m, y.m), octaves(x.n, y.n), octaves(x.k, y.k)});
}

std::optional<std::size_t> nearest(const Problem& problem, const std::vector<Problem>& others) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Problem& other = others[i];
    if (other == problem || other.precision != problem.precision || other.layout != problem.layout ||
        other.align != problem.align) {
      continue;
    }
    if (!best || octaves_apart(problem, other) <= octaves_apart(problem, others[*best])) best = i;
  }
  return best;
}

std::vector<Lesson> fastest(std::vector<Lesson> lessons, std::size_t most) {
  std::stable_sort(lessons.begin(), lessons.end(),
                   [](const Lesson& x, const Lesson& y) { return x.time_us < y.time_us; });
  if (lessons.size() > most) lessons.erase(lessons.begin() + static_cast<std::ptrdiff_t>(most), lessons.end());
  return lessons;
}

std::vector<Lesson> fastest_stored(const TrialKey& place, const Preparation& preparation, Store& store,
                                   std::size_t most) {
  RowFilter filter;
  filter.device = place.device;
  filter.problem = place.problem;
  filter.evidence = place.evidence;
  std::vector<Trial> trials = store.trials(filter);
  std::erase_if(trials, [](const Trial& trial) { return trial.outcome != Outcome::ok; });
  std::stable_sort(trials.begin(), trials.end(),
                   [](const Trial& x, const Trial& y) { return x.timing.median_us < y.timing.median_us; });
  std::vector<Lesson> lessons;
  for (const Trial& trial : trials) {
    if (lessons.size() == most) break;
    if (!preparation.makes(trial.key)) continue;
    lessons.push_back(lesson_of(trial, preparation.device()));
  }
  return lessons;
}

std::vector<Candidate> proven(const std::vector<const Family*>& families, const Problem& problem,
                              const Spaces& spaces) {
  std::vector<std::pair<double, Candidate>> found;
  for (const Family* family : families) {
    for (const Proven& each : family->proven()) {
      if (each.precision != problem.precision) continue;
      Candidate candidate{family, family->with_defaults(Config::parse(each.config), problem), 0};
      if (!spaces.contains(candidate)) continue;
      const Problem where = packed_problem(each.precision, problem.layout, each.m, each.n, each.k);
      found.emplace_back(octaves_apart(problem, where), std::move(candidate));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<Candidate> candidates;
  candidates.reserve(found.size());
  for (auto& [distance, candidate] : found) candidates.push_back(std::move(candidate));
  return candidates;
}

std::vector<Winner> comparable_winners(const TrialKey& place, Store& store) {
  RowFilter filter;
  filter.device = place.device;
  filter.precision = place.problem.precision;
  filter.layout = place.problem.layout;
  filter.evidence = place.evidence;
  return store.winners(filter);
}

std::vector<Lesson> nearest_stored(TrialKey place, const Preparation& preparation, Store& store) {
  std::vector<Problem> decided;
  for (const Winner& winner : comparable_winners(place, store)) decided.push_back(winner.trial.key.problem);
  const auto near = nearest(place.problem, decided);
  if (!near) return {};
  place.problem = decided[*near];
  return fastest_stored(place, preparation, store);
}

}  // namespace mmtune
