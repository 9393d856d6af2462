// The problem, and the kernel, of verbs that look at a single one.
#pragma once

#include <string>

#include "templates/problem/problem.h"
#include "tuner/commands/options.h"
#include "tuner/devices/device_choice.h"
#include "tuner/lanes/candidate.h"

namespace mmtune {

/// The packed problem that --size, --precision and --layout name. Throws UsageError where they name several.
Problem one_problem(const std::string& size, const Options& options);

/// The configuration that --family and --config name, or, where no family is named, the stored winner of the problem on
/// the device, a measured one before a predicted one. Throws UsageError where nothing is stored, or what is named
/// cannot run; DatabaseError.
Candidate one_candidate(const std::string& family, const std::string& config, const Problem& problem,
                        const DeviceChoice& device, const Options& options);

}  // namespace mmtune
