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

/// csv and json get every column under its persistent name; table and md fewer, friendlier ones. One state for each
/// winner.
Table winners_table(const std::vector<Winner>& winners, const std::vector<State>& states, Format format);

}  // namespace mmtune
