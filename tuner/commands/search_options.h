// What is searched and how, for the verbs that tune.
#pragma once

#include <string>
#include <vector>

#include "tuner/commands/options.h"
#include "tuner/tune/session_options.h"

namespace mmtune {

struct SearchOptions : Options {
  std::string sizes;
  std::string families;    ///< the names, comma-separated; empty: all that compete
  SessionOptions session;  ///< the options of the search; plan() fills in the rest
};

/// Adds --sizes, --device, those of problem_options(), and the options of the search; `options` must outlive the
/// parsing.
void add_search_options(Verb& verb, SearchOptions& options);

/// The problems that a value of --sizes names, for the options' precisions and layouts; those of a file of calls in its
/// order. Throws UsageError.
std::vector<Problem> named_problems(const std::string& sizes, const Options& options);

/// The session that the options describe. Finds everything that can be wrong with them, before any work: throws
/// UsageError, DeviceError.
SessionOptions plan(const SearchOptions& options);

/// The session that the options describe, for these problems instead of those of --sizes.
SessionOptions plan(const SearchOptions& options, std::vector<Problem> problems);

/// What a verb returns whose session was interrupted: says that the same command goes on.
ExitCode interrupted();

}  // namespace mmtune
