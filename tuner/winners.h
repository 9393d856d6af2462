// The decisions of a database as a table.
#pragma once

#include <vector>

#include "db/trial.h"
#include "tuner/report.h"

namespace mmtune {

/// Leaves one winner for each GPU and problem: the measured one where there is one. Keeps the order.
std::vector<Winner> best_evidence(std::vector<Winner> winners);

/// csv and json get every column under its persistent name; table and md fewer, friendlier ones.
Table winners_table(const std::vector<Winner>& winners, Format format);

}  // namespace mmtune
