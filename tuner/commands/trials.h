// The stored candidates of a database as a table: what was tried, and what became of it.
#pragma once

#include <vector>

#include "db/trial.h"
#include "tuner/text/report.h"

namespace mmtune {

/// The mean SM clock while it was timed, in MHz. NaN where unknown.
double sm_clock_mhz(const Trial& trial);

/// The share of the permitted error. NaN for a prediction, which computed nothing, and for what was not right.
double error_share(const Trial& trial);

/// Problem by problem, in each those that were right first, by time. csv and json:
/// precision,layout,m,n,k,family,config,source,outcome,median_us,tflops,smem_bytes,occupancy,error_share,deterministic,
/// gpu,created,invariant,sm_clock_mhz,note.
Table trials_table(std::vector<Trial> trials, const Output& output);

}  // namespace mmtune
