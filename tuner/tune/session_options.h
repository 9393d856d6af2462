// What a session is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/trial.h"
#include "templates/family/family.h"
#include "templates/problem/problem.h"
#include "templates/space/space.h"
#include "tuner/devices/device_choice.h"
#include "tuner/tune/session_mode.h"

namespace mmtune {

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
  bool is_part = false;  ///< whether it is part of a run, which speaks of the budget and keeps losers' machine code
  SessionMode mode = SessionMode::tune();
  bool in_order = false;       ///< whether the first problems matter most; else a run may begin with the longest
  bool deterministic = false;  ///< whether only kernels that give the same bits every time may win
};

/// The families of these names, each once; without names all that compete. Throws UsageError for an unknown one.
std::vector<const Family*> searched_families(const std::vector<std::string>& names);

/// How many configurations of the searched families the restriction leaves for a problem, before any rule.
std::int64_t configurations(const SessionOptions& options, const DeviceSpec& device, const Problem& problem);

/// The strategy that is asked for, else what suits the times: "guided" learns where measurements differ from the model,
/// which predictions do not, and for them "ranked" finds as much with a tenth of the compiling.
std::string strategy_of(const SessionOptions& options, Evidence evidence);

}  // namespace mmtune
