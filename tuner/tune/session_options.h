// What a session is asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/trial.h"
#include "templates/family/family.h"
#include "templates/problem/problem.h"
#include "templates/space/space.h"
#include "tuner/devices/device_choice.h"
#include "tuner/lanes/candidate.h"

namespace mmtune {

class KeptWorkers;

/// What a session does with what is stored, as questions that its parts ask.
class SessionMode {
 public:
  using ListedCandidates = std::function<std::vector<Candidate>(const Problem&)>;

  /// Searches the problems that are not decided; what is known of their candidates is not measured again.
  static SessionMode tune() { return SessionMode(Kind::tune); }

  /// Searches all problems, and measures what is known again.
  static SessionMode retune() { return SessionMode(Kind::retune); }

  /// Measures the fastest stored candidates of all problems again, and searches no others.
  static SessionMode refresh() { return SessionMode(Kind::refresh); }

  /// Measures the listed candidates of all problems, whatever is stored of them, and decides nothing.
  static SessionMode measure(ListedCandidates listed) { return SessionMode(Kind::measure, std::move(listed)); }

  /// Whether a problem whose decision is current is left alone.
  bool leaves_decided() const { return kind_ == Kind::tune; }

  /// Whether stored trials stand for candidates, instead of being measured again.
  bool reuses_trials() const { return kind_ == Kind::tune || kind_ == Kind::measure; }

  /// Whether a strategy proposes candidates.
  bool searches() const { return kind_ == Kind::tune || kind_ == Kind::retune; }

  /// Whether the fastest candidates race, and the winner is stored.
  bool decides() const { return kind_ != Kind::measure; }

  /// The candidates of a problem that measure() was given; none of other modes.
  std::vector<Candidate> listed(const Problem& problem) const {
    return listed_ ? listed_(problem) : std::vector<Candidate>();
  }

 private:
  enum class Kind { tune, retune, refresh, measure };

  explicit SessionMode(Kind kind, ListedCandidates listed = {}) : kind_(kind), listed_(std::move(listed)) {}

  Kind kind_;
  ListedCandidates listed_;
};

struct SessionOptions {
  std::vector<DeviceChoice> devices;  ///< the GPUs; those of one model share the problems, each model has all of them
  std::vector<Problem> problems;
  std::string database;               ///< the path of the database; created where missing
  std::vector<std::string> families;  ///< the names of the families; empty: all that compete
  Restriction only;                   ///< the values of parameters that are searched; the others have all theirs
  std::string strategy;               ///< one of strategy_names(); empty: see strategy_of()
  std::string effort = "default";     ///< "quick", "default" or "full"
  double budget_s = 0;                ///< the time for all problems together; 0: no limit
  double latest_s = 0;                ///< no problem begins that would end later, but the first does; 0: all begin
  std::uint64_t seed = 1;
  int jobs = 0;                 ///< processes that compile; 0: one per core
  double compile_limit_s = 60;  ///< the time for one source
  double launch_limit_s = 10;   ///< the time for a candidate on the GPU, beyond what its work can take
  double load_limit_s = 60;     ///< the time for a process to load NVRTC
  double open_limit_s = 120;    ///< the time for a process to open a GPU: a driver that wakes up, a context
  double begin_limit_s = 60;    ///< the time for operands on the GPU, and for a race, beyond what their work can take
  double wait_s = 0;            ///< the time for a GPU that another process measures on; 0: no limit
  /// Whether it is part of a run, which speaks of the budget and chooses anew in the end: nothing races, and losers
  /// keep their machine code.
  bool is_part = false;
  std::shared_ptr<KeptWorkers> kept;  ///< the processes of the session before and for the next; null: they end with it
  SessionMode mode = SessionMode::tune();
  bool in_order = false;       ///< whether the first problems matter most; else a run may begin with the longest
  bool deterministic = false;  ///< whether only kernels that give the same bits every time may win
};

/// The families of these names, each once; without names all that compete. Throws UsageError for an unknown one.
std::vector<const Family*> searched_families(const std::vector<std::string>& names);

/// How many configurations of the searched families the restriction leaves for a problem, before any rule.
std::int64_t configurations(const SessionOptions& options, const DeviceSpec& device, const Problem& problem);

/// The strategy that is asked for, else what suits the times: "guided" learns where measurements differ from the model,
/// which predictions do not, and for them "ranked" finds as much with hardly any compiling.
std::string strategy_of(const SessionOptions& options, Evidence evidence);

}  // namespace mmtune
