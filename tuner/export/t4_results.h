// Trials in the T4 format, in which autotuners exchange results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/trial.h"

namespace mmtune {

/// The trials of one family for one problem on one GPU, as JSON that read_measured_space() and Kernel Tuner read: times
/// in milliseconds, parameters as numbers. Of each configuration the latest trial; measured ones, else predicted ones.
/// `compile_ms` says how long a trial's program took to compile. Throws UsageError that lists what there is where the
/// trials are of several families, problems or GPUs, or of none.
std::string t4_results(std::vector<Trial> trials, const std::function<double(const Trial&)>& compile_ms);

}  // namespace mmtune
