// Two devices, or two databases of one, side by side: which kernel wins where, and how one's winner does on the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/replay/timed_trials.h"
#include "tuner/text/report.h"

namespace mmtune {

/// What is known of a device. Where no trial is stored, the model stands in.
struct Side {
  std::string name;
  DeviceSpec device;
  std::vector<TimedProblem> problems;
  std::vector<Winner> winners = {};  ///< the decisions, one for each problem

  const TimedProblem* find(const Problem& problem) const;
};

/// A kernel's time on a side.
struct SideTime {
  double time_us = 0;
  double noise = 0;  ///< half the distance of the quartiles as a share of the time; 0 where it is not known
  Evidence evidence = Evidence::predicted;
};

/// One problem on two sides.
struct SideBySide {
  Problem problem;
  Candidate winner_a, winner_b;
  SideTime time_a, time_b;         ///< the time of each side's own winner
  std::optional<SideTime> a_on_b;  ///< the time of A's winner on B; nothing where it cannot run there
  std::string limit_a, limit_b;    ///< what binds the occupancy of A's winner on A and on B
  int common = 0;                  ///< the number of configurations that both sides have a time of
  double spearman = 0;             ///< the rank correlation of these; NaN for fewer than two
  double peak_ratio = 0;           ///< B's peak over A's in the problem's precision

  double speed_ratio() const { return time_a.time_us / time_b.time_us; }  ///< a ratio above 1 where B is faster

  /// How A's winner does on B beside B's own: "the same" kernel, "cannot run" there, "+12.3 %" slower, or "cannot
  /// tell": the difference is within both times' noise, or only one of them was measured.
  std::string verdict() const;
};

/// A problem that A has trials of. A side that has not decided it has its fastest trial as winner. On a side without
/// trials of it, every configuration of the other's is predicted, and the fastest of these is its winner. Nothing where
/// no configuration can run on both.
std::optional<SideBySide> compare_sides(const Side& a, const Side& b, const Problem& problem);

/// csv and json: precision,layout,m,n,k,winner_a,time_a_us,source_a,winner_b,time_b_us,source_b,a_on_b_us,verdict,
/// limit_a,limit_b,configurations,spearman,speed_ratio,peak_ratio.
Table sides_table(const std::vector<SideBySide>& rows, const Side& a, const Side& b, Format format);

}  // namespace mmtune
