// What a strategy would have found, told from results that are known: needs no GPU and no compiler.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "tuner/search/rounds.h"
#include "tuner/search/strategy.h"

namespace mmtune {

/// What a candidate would have come to, and the time that finding out would have cost.
struct Recollection {
  Observation observation;
  double seconds = 0;
};

/// What is known of a candidate; nothing: it was never tried.
using Recall = std::function<std::optional<Recollection>(CandidateNumber)>;

/// How far a search was after a trial.
struct ReplayStep {
  double seconds = 0;  ///< the time of all trials up to here
  double best_us = 0;  ///< the shortest time so far; 0: none was right yet
};

/// A search on recollections.
struct Replay {
  std::vector<ReplayStep> steps;        ///< one for each trial that was known
  std::optional<CandidateNumber> best;  ///< the fastest right candidate
  int unknown = 0;  ///< the number of proposals that were not known, of which the strategy learnt nothing

  ReplayStep last() const { return steps.empty() ? ReplayStep{} : steps.back(); }
};

inline constexpr double kUnlimited_s = std::numeric_limits<double>::infinity();

/// Lets a strategy propose and learn until it has enough, or one was right and the known trials took over `budget_s`.
/// As many rounds are under way as in a session unless told otherwise.
Replay replay(Strategy& strategy, const Recall& recall, double budget_s = kUnlimited_s,
              std::size_t rounds_under_way = Rounds::kUnderWay);

}  // namespace mmtune
