// How far tuning finds the same winners again: several runs from scratch, whose winners are raced at the end.
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/race/race.h"
#include "tuner/text/report.h"
#include "tuner/tune/session.h"

namespace mmtune {

/// What several runs made of one size. The reference is the winner that most runs chose among those that the final race
/// found equal to the fastest: as fast as it, by is_as_fast().
struct Repeats {
  int runs = 0;           ///< the runs that had a winner
  int same = 0;           ///< the runs whose winner is the reference
  int ties = 0;           ///< the runs whose winner is another one, equal to the fastest
  int flips = 0;          ///< the runs whose winner is slower
  double worst_loss = 0;  ///< the share by which the slowest flip is slower than the fastest; 0.01 is one percent
};

/// `chosen`: for every run the index of its winner in `placings`, those of all different winners in the final race.
Repeats count_repeats(const std::vector<std::size_t>& chosen, const std::vector<Placing>& placings);

struct RepeatedProblem {
  Problem problem;
  Repeats repeats;
};

struct RepeatOptions {
  SessionOptions session;  ///< its database is not used
  int runs = 5;
  bool vary_seed = false;  ///< every run has a seed of its own, from that of the session on; else all have the same
};

/// Tunes everything `runs` times, each time with an empty database in a temporary directory, then races the winners of
/// each problem in one interleaved run. A problem whose race is lost, or in which a winner turns out to be wrong, is
/// left out with a line on stderr. Throws what run_session throws. Interrupted, it comes back with what there is.
std::vector<RepeatedProblem> measure_repeatability(const RepeatOptions& options);

/// csv and json: m,n,k,runs,same,ties,flips,worst_loss.
Table repeats_table(const std::vector<RepeatedProblem>& problems, Format format);

}  // namespace mmtune
