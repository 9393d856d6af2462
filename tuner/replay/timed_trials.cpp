#include "tuner/replay/timed_trials.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "templates/base/order.h"
#include "tuner/replay/latest_trials.h"

namespace mmtune {
namespace {

auto order_of(const Problem& p) {
  return std::tuple{p.precision, p.layout, p.m, p.n, p.k, p.align.a, p.align.b, p.align.c, p.invariant};
}

TimedProblem timed_problem(const Problem& problem, std::vector<Trial> trials) {
  const auto name_of = [](const Trial& trial) -> std::optional<std::string> {
    const auto candidate = candidate_of(trial.key);
    return candidate ? std::optional(key_of(*candidate)) : std::nullopt;
  };
  TimedProblem timed{problem, {}};
  for (auto& [name, trial] : latest_trials(std::move(trials), name_of)) {
    timed.trials.push_back({*candidate_of(trial.key), std::move(trial)});
  }
  std::stable_sort(timed.trials.begin(), timed.trials.end(), [](const TimedTrial& x, const TimedTrial& y) {
    return x.trial.timing.median_us < y.trial.timing.median_us;
  });
  return timed;
}

/// The ranks, from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
  const auto order = places_in_order(values.size(), [&](auto i, auto j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double rank = static_cast<double>(first + end + 1) / 2;
    for (; first < end; ++first) ranks[order[first]] = rank;
  }
  return ranks;
}

}  // namespace

const TimedTrial* TimedProblem::best() const {
  const auto found =
      std::find_if(trials.begin(), trials.end(), [](const auto& each) { return each.trial.outcome == Outcome::ok; });
  return found == trials.end() ? nullptr : &*found;
}

std::vector<TimedProblem> timed_problems(Store& store, const DeviceKey& device) {
  std::vector<Trial> trials = store.trials({.device = device});
  std::erase_if(trials, [](const Trial& trial) { return !has_time(trial.outcome); });
  const auto is_before = [](const Trial& x, const Trial& y) {
    return order_of(x.key.problem) < order_of(y.key.problem);
  };
  std::stable_sort(trials.begin(), trials.end(), is_before);
  std::vector<TimedProblem> problems;
  for (auto first = trials.begin(); first != trials.end();) {
    const auto end = std::upper_bound(first, trials.end(), *first, is_before);
    const Problem problem = first->key.problem;
    problems.push_back(timed_problem(problem, {std::make_move_iterator(first), std::make_move_iterator(end)}));
    first = end;
  }
  return problems;
}

double rank_correlation(std::span<const double> x, std::span<const double> y) {
  const auto ranks_x = ranks_of(x), ranks_y = ranks_of(y);
  const double mean = static_cast<double>(x.size() + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < ranks_x.size(); ++i) {
    xy += (ranks_x[i] - mean) * (ranks_y[i] - mean);
    xx += (ranks_x[i] - mean) * (ranks_x[i] - mean);
    yy += (ranks_y[i] - mean) * (ranks_y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

}  // namespace mmtune
