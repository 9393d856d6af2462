// Compiles what the next problems begin with while one is tuned, whenever that leaves compilers idle.
#pragma once

#include <cstddef>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tuner/tune/tuning_setup.h"

namespace mmtune {

/// The head start of one lane. Not thread safe.
class HeadStart {
 public:
  /// All must outlive it.
  HeadStart(CompilePool& pool, CodeMemory& code, LostCompiles& lost, const Preparation& preparation)
      : compiler_(pool, Turn::last), code_(code), lost_(lost), preparation_(preparation) {}

  /// Orders the programs of the problem that comes next, instead of those before that no compiler has begun.
  void order(std::vector<Program> programs);

  /// Orders those of the problem after that.
  void order_more(std::vector<Program> programs);

  /// Keeps what has been compiled for the problem that begins now, and notes what no compiler answered to. What still
  /// compiles stays ordered, so that the problem's search finds it under way.
  void hand_over();

 private:
  CompileQueue compiler_;
  CodeMemory& code_;
  LostCompiles& lost_;
  const Preparation& preparation_;
  std::size_t next_ticket_ = 0;
  std::unordered_map<std::size_t, TrialKey> ordered_;  ///< what the programs are for, by ticket
};

/// Orders all that is listed for these problems, each source once, in their order; what is stored is kept at hand.
void order_listed(const SessionMode& mode, const Preparation& preparation, Store& store, CodeMemory& code,
                  HeadStart& head_start, const std::vector<Problem>& problems);

/// Orders what problems begin with, one after the other, until it is to stop. The setup is that of the problem that the
/// lane tunes meanwhile: a fault of the database meets that, too, which tells it. All must outlive the thread.
std::jthread order_ahead(const TuningSetup& setup, HeadStart& head_start, std::vector<Problem> problems,
                         std::vector<Candidate> favourites);

}  // namespace mmtune
