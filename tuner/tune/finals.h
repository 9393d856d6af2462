// The finals: which of the candidates that were right wins.
#pragma once

#include <vector>

#include "tuner/tune/decision.h"
#include "tuner/tune/judge.h"
#include "tuner/tune/tuning_setup.h"

namespace mmtune {

/// Collects the finalists of one problem and races the fastest, until all that raced may win. For one thread.
class Finals {
 public:
  Finals(const TuningSetup& setup, Judge& judge) : setup_(setup), judge_(judge) {}

  /// Takes what became of a candidate and warns of faults. False if the candidate was right and may not win all the
  /// same: only deterministic kernels may, and it is none.
  bool add(const Program& program, const Trial& trial);

  bool empty() const { return finalists_.empty(); }

  /// The shortest time of a finalist; 0: there is none yet.
  double best_us() const { return best_us_; }

  /// The fastest that is searched, as far as known; null if there is none.
  const Finalist* fastest_in(const FamilySpaces& spaces) const;

  /// A candidate may have been too slow only beside one that is no finalist: that was dropped, or that an earlier
  /// search had and this one leaves out. Those that can be the fastest of the present ones are judged again.
  void try_too_slow_again();

  /// Takes out what may win but whose machine code is not stored here, since another installation measured it or it
  /// lost to an earlier decision: it is to be compiled again, and judged where it was not measured here.
  std::vector<Candidate> take_without_program();

  /// Whether the finalist's machine code is known, so that it can be served.
  bool has_code(Finalist finalist) const;

  /// The winner: by a race, or by the times that there are, where races keep being lost or the session is a part of a
  /// run. Null if no finalist is left, or if the session is stopped before it is known. Holds until the next call.
  const Finalist* winner();

  /// Whether a candidate killed for the first time: the next run tries it once more.
  bool saw_first_kill() const { return saw_first_kill_; }

 private:
  bool may_win(const Trial& trial) const;
  void note_fault(const Trial& trial);
  void judge_fastest_again();
  bool drop_faulty();
  void note_best();

  const TuningSetup& setup_;
  Judge& judge_;
  double best_us_ = 0;
  std::vector<Finalist> finalists_;
  std::vector<Finalist> too_slow_;  ///< the candidates that are to be timed beside the best of their time
  bool saw_first_kill_ = false;
};

}  // namespace mmtune
