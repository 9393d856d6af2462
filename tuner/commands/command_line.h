// The command line: which verb it names, and the values of its options.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/commands/verb.h"

namespace mmtune {

/// What the arguments, without the program's name, ask for: the run of a verb, whose options have their values then, or
/// to print a help page or `version`. Without a verb the main one is meant; without anything, help. Throws UsageError.
///
/// `--name value`, `--name=value`, `-v`, `-vv`; `--` ends the options. What begins with a dash and is no name of an
/// option may be a value.
std::function<ExitCode()> parse_command_line(const std::vector<Verb>& verbs, const std::string& version,
                                             const std::vector<std::string>& arguments);

}  // namespace mmtune
