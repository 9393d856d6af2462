// What becomes of a program: its trial, as it is stored.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tuner/tune/decision.h"
#include "tuner/tune/program_supply.h"
#include "tuner/tune/tuning_setup.h"

namespace mmtune {

/// Turns the programs of one problem into stored trials, by what is known of others or on the lane. No launch there
/// goes unrecorded: the transaction that stores a trial also records the launch that comes next, so that a crash of the
/// machine has a name. For one thread.
class Judge {
 public:
  /// `coming`: the program that is judged next, as far as that is known without waiting; else null.
  Judge(const TuningSetup& setup, const Problem& problem, std::function<const Program*()> coming)
      : setup_(setup), problem_(problem), coming_(std::move(coming)) {}

  /// The stored trial of the same source by the same compiler, unless it is to be measured again or ended its worker.
  std::optional<Trial> known(const Program& program) const;

  /// Launches the program, unless it did not compile, does not fit or has a twin. A program clearly slower than
  /// `best_us` (0: none yet) is too slow. Throws DatabaseError, DeviceError.
  Trial judge(const Supplied& supplied, double best_us);

  /// Launches a finalist once more, where its machine code is known.
  void judge_again(Finalist& finalist, double best_us);

 private:
  std::optional<Trial> twin_of(const Program& program) const;
  void try_program(const Program& program, double best_us, Trial& trial);
  void launch(const Program& program, double best_us, Trial& trial);
  void store(const Trial& trial, const Binary* binary);

  const TuningSetup& setup_;
  Problem problem_;
  std::function<const Program*()> coming_;
  std::string recorded_;  ///< key_of() the candidate whose launch is recorded already
};

}  // namespace mmtune
