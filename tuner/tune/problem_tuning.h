// One problem on one GPU: search, judge, race, decide.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "db/store.h"
#include "tuner/lanes/lane.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/decision.h"
#include "tuner/tune/preparation.h"
#include "tuner/tune/session.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {

/// What the problems of a lane have in common.
struct TuningSetup {
  const SessionOptions& options;
  const Effort& effort;
  const std::vector<const Family*>& families;
  const Preparation& preparation;
  Store& store;
  CompileQueue& compiler;
  Lane& lane;
  std::function<bool()> stopped;                     ///< whether to end early with what there is
  std::function<void(const std::string&)> progress;  ///< called for each candidate that is judged
};

enum class Ending { decided, failed, stopped };

/// Every candidate becomes a stored trial; the transaction of one also records the launch of the next, so that a crash
/// of the machine has a name. For one use by one thread.
class ProblemTuning {
 public:
  using Clock = std::chrono::steady_clock;

  /// Searches until `deadline`, or a little longer where nothing was found yet. `search` is search_hash().
  ProblemTuning(const TuningSetup& setup, const Problem& problem, std::string search, Clock::time_point deadline);

  /// Failed if the problem has no valid candidate, or cannot be measured here. Throws DatabaseError, DeviceError.
  Ending run(const std::vector<Candidate>& favourites);

  /// Once decided.
  const Candidate& winner() const { return finalists_[winner_].program.candidate; }

 private:
  /// A program whose compilation is over.
  struct Compiled {
    std::size_t index = 0;  ///< in proposed_
    Outcome outcome = Outcome::ok;
    std::string log;  ///< if that is not ok
    Binary binary;    ///< if it is
  };

  bool out_of_time() const;
  TrialKey place() const;
  std::unique_ptr<Strategy> searcher(const Spaces& spaces, const std::vector<Candidate>& favourites) const;
  std::vector<Candidate> untried_defenders(const Spaces& spaces) const;
  bool is_usable(const Trial& known) const;
  bool anew() const;
  bool work_through(Strategy& strategy, const std::function<bool()>& enough);
  void drop_what_is_under_way();
  std::optional<Trial> look_up(std::size_t index);
  std::optional<Compiled> next_compiled();
  Compiled compiled_from(CompilePool::Result result) const;
  Trial judge(Compiled compiled);
  std::optional<Trial> twin_of(const Program& program) const;
  void try_program(const Program& program, Trial& trial);
  void launch(const Program& program, Trial& trial);
  void store(const Trial& trial, const Binary* binary);
  std::optional<LaunchRecord> next_launch();
  bool may_win(const Trial& trial) const;
  std::optional<Trial> note(const Program& program, Trial trial);
  bool is_dangerous(const TrialKey& key) const;
  Trial set_aside(const Program& program);
  void note_fault(const Trial& trial);
  Ending decide();
  std::optional<std::size_t> finals();
  void judge_suspects();
  void judge_again(Finalist& suspect);
  bool drop_faulty();
  void try_too_slow_again();

  const TuningSetup& setup_;
  Problem problem_;
  std::string search_;
  Clock::time_point deadline_;
  std::optional<Winner> before_;  ///< the stored decision
  double best_us_ = 0;
  std::vector<Program> proposed_;
  std::unordered_set<std::string> judged_;  ///< key_of() the candidates of these
  std::deque<Compiled> compiled_;           ///< that wait for the lane
  std::string announced_;                   ///< key_of() the candidate whose launch is recorded already
  std::vector<Finalist> finalists_;
  std::vector<Finalist> too_slow_;  ///< to be timed, beside the best of then
  std::size_t winner_ = 0;
  int set_aside_ = 0;       ///< candidates
  bool is_cut_ = false;     ///< the search ended before its time
  bool once_more_ = false;  ///< some killed for the first time: the next run tries them again
};

}  // namespace mmtune
