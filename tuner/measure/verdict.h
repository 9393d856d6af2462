// The result of judging a candidate.
#pragma once

#include <string>

#include "db/trial.h"

namespace mmtune {

/// What became of a program that ran: whether it was right, and how long it took.
struct Verdict {
  Outcome outcome = Outcome::ok;
  std::string note;           ///< why it failed
  Timing timing;              ///< if ok or too slow
  double error_share = 0;     ///< of the allowed bound, on random operands
  bool deterministic = true;  ///< every result that was compared had the same bits; if ok
};

}  // namespace mmtune
