// For verbs that look at a single problem.
#pragma once

#include <string>

#include "templates/problem.h"
#include "tuner/commands/options.h"

namespace mmtune {

/// The packed problem that --size, --precision and --layout name. Throws UsageError where they name several.
Problem one_problem(const std::string& size, const Options& options);

}  // namespace mmtune
