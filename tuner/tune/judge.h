// What becomes of a program: its trial, as it is stored.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/tune/decision.h"
#include "tuner/tune/program_supply.h"
#include "tuner/tune/tuning_setup.h"

namespace mmtune {

/// Turns the programs of one problem into stored trials, by what is known of others or on the lane. No launch there
/// goes unrecorded: the transaction that stores a trial also records the launch that comes next, so that a crash of the
/// machine has a name. Those of listed candidates are recorded together, one by one after such a crash, and their
/// trials go to the setup's batch. For one thread.
class Judge {
 public:
  /// `coming`: the programs that are judged next, as far as they are known without waiting.
  Judge(const TuningSetup& setup, const Problem& problem, std::function<std::vector<const Program*>()> coming)
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
  bool is_listed() const;
  void record(const Program& program);
  void store(const Trial& trial, const Binary* binary);

  const TuningSetup& setup_;
  Problem problem_;
  std::function<std::vector<const Program*>()> coming_;
  std::set<std::string> recorded_;  ///< key_of() the candidates whose launches are recorded already
};

}  // namespace mmtune
