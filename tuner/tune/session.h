// The main job: for every problem, find the best kernel and store everything learnt on the way.
#pragma once

#include <vector>

#include "templates/problem/problem.h"
#include "tuner/tune/session_options.h"

namespace mmtune {

struct SessionSummary {
  int tuned = 0;                   ///< the number of problems that got a new decision
  int known = 0;                   ///< the number of problems whose decision was in the database
  int not_beaten = 0;              ///< the number of problems whose stored decision lies outside the search and stays
  int failed = 0;                  ///< the number of problems without a valid candidate
  std::vector<Problem> left = {};  ///< the problems that did not begin, as it was too late
  bool interrupted = false;        ///< whether a signal stopped it; everything finished is stored
};

/// Throws DatabaseError, DeviceError and its kinds. Progress goes to stderr.
SessionSummary run_session(const SessionOptions& options);

}  // namespace mmtune
