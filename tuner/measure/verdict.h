// The result of judging a candidate.
#pragma once

#include <string>

#include "db/trial.h"

namespace mmtune {

/// What became of a program that ran: whether it was right, and how long it took.
struct Verdict {
  Outcome outcome = Outcome::ok;
  std::string note;           ///< why it failed
  Timing timing;              ///< the time, if the outcome is ok or too_slow
  double error_share = 0;     ///< the largest error as a share of the allowed bound, on random operands
  bool deterministic = true;  ///< whether every result that was compared had the same bits; if ok

  static constexpr void fields(auto&& visit) {
    visit("outcome", &Verdict::outcome, rule::outcome);
    visit("note", &Verdict::note);
    visit("timing", &Verdict::timing);
    visit("error_share", &Verdict::error_share, rule::not_below_0);
    visit("deterministic", &Verdict::deterministic);
  }
  std::string_view contradiction() const { return contradiction_of(outcome, timing.median_us, error_share); }
};
static_assert(kListsAllMembers<Verdict>);

}  // namespace mmtune
