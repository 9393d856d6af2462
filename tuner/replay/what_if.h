// How a strategy would have done in a session, told from the trials that a database has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/replay/replay.h"
#include "tuner/text/report.h"
#include "tuner/tune/session_options.h"

namespace mmtune {

/// The search of one problem, replayed.
struct WhatIf {
  Problem problem;
  std::uint64_t seed = 0;
  Replay replay;
  double stored_best_us = 0;  ///< the best of all stored trials in the searched space; 0: none was right
  int stored = 0;             ///< the number of these trials
};

/// Replays the search that these options describe, problem after problem as a session does, once for each seed, on the
/// trials that the database has of the device: measured ones, else predicted ones; of several of one configuration the
/// latest. Unlike a session it starts from nothing that is proven: that may have been learnt from these very trials.
/// Sources are not rendered: trials of a kernel that was edited since count too. A trial takes its compile
/// time divided by options.jobs (0: the cores of this machine), once for each source, plus the time of its samples; not
/// counted are verification, the final race, and compiling what the database has no image of. Throws DatabaseError.
std::vector<WhatIf> what_if(const SessionOptions& options, const std::vector<std::uint64_t>& seeds);

/// One row a replay. CSV and JSON have the columns
/// strategy,seed,precision,m,n,k,trials,seconds,best_us,exhaustive_us,exhaustive_trials.
Table what_if_table(const std::vector<WhatIf>& replays, const std::string& strategy, Format format);

/// A row for the first trial, each that improves on the best, and the last:
/// strategy,seed,precision,m,n,k,trials,seconds,best_us.
Table curve_table(const std::vector<WhatIf>& replays, const std::string& strategy);

}  // namespace mmtune
