// What a strategy would have found, told from stored trials: needs no GPU and no compiler.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "db/trial.h"
#include "tuner/search/strategy.h"
#include "tuner/text/report.h"
#include "tuner/tune/session.h"

namespace mmtune {

/// A trial as it would have come out, and the time that finding out would have cost.
struct Recollection {
  Trial trial;
  double seconds = 0;
};

/// What is known of a candidate; nothing: it was never tried.
using Recall = std::function<std::optional<Recollection>(const Candidate&)>;

/// How far a search was after a trial.
struct ReplayStep {
  double seconds = 0;  ///< of all trials up to here
  double best_us = 0;  ///< 0: none was right yet
};

/// A search on recollections.
struct Replay {
  Problem problem;
  std::uint64_t seed = 0;
  std::vector<ReplayStep> steps;  ///< one for each trial that was known
  std::optional<Candidate> best;  ///< the fastest right one
  int unknown = 0;                ///< proposals that were not, which the strategy learnt nothing of
  double stored_best_us = 0;      ///< of all stored trials in the searched space; 0: none was right
  int stored = 0;                 ///< how many these are
};

inline constexpr double kUnlimited_s = std::numeric_limits<double>::infinity();

/// Lets a strategy propose and learn until it has enough, or one was right and the known trials took over `budget_s`.
Replay replay(Strategy& strategy, const Recall& recall, double budget_s = kUnlimited_s);

/// Replays the search that these options describe, problem after problem as a session does, once for each seed, on the
/// trials that the database has of the device: measured ones, else predicted ones; of several of one configuration the
/// latest. Sources are not rendered: trials of a kernel that was edited since count too. A trial takes its compile
/// time divided by options.jobs (0: the cores of this machine), once for each source, plus the time of its samples; not
/// counted are verification, the final race, and compiling what the database has no image of. Throws DatabaseError.
std::vector<Replay> what_if(const SessionOptions& options, const std::vector<std::uint64_t>& seeds);

/// One row a replay. CSV and JSON have the columns
/// strategy,seed,precision,m,n,k,trials,seconds,best_us,exhaustive_us,exhaustive_trials.
Table replays_table(const std::vector<Replay>& replays, const std::string& strategy, Format format);

/// A row for the first trial, each that improves on the best, and the last:
/// strategy,seed,precision,m,n,k,trials,seconds,best_us.
Table curve_table(const std::vector<Replay>& replays, const std::string& strategy);

}  // namespace mmtune
