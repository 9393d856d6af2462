// The decisions of a database as a table.
#pragma once

#include <vector>

#include "db/trial.h"
#include "tuner/text/report.h"
#include "tuner/tune/validity.h"

namespace mmtune {

/// Leaves one winner for each GPU and problem: the measured one where there is one. Keeps the order.
std::vector<Winner> best_evidence(std::vector<Winner> winners);

/// The state of each of them, on the GPUs that are installed here. Without the compiler if `nvrtc` is empty.
std::vector<State> states_of(const std::vector<Winner>& winners, const std::string& nvrtc);

/// The settings of a stored configuration that are not the family's defaults, "default" if all are. Whole for a family
/// or a configuration that is not known any more.
std::string brief_config(const TrialKey& key);

/// csv and json get every column under its persistent name; table and md fewer, friendlier ones. A table that is not
/// wide has brief configurations. One state for each winner.
Table winners_table(const std::vector<Winner>& winners, const std::vector<State>& states, const Output& output);

}  // namespace mmtune
