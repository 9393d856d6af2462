// The verbs of the program. A verb is a file in tuner/commands/verbs that defines `Verb mmtune_verb_<name>()`, for the
// name of the file; the list of all is generated.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/commands/option.h"

namespace mmtune {

/// What the program returns to its caller.
enum class ExitCode : int {
  done = 0,
  internal_error = 1,
  usage = 2,
  no_device = 3,
  no_candidate = 4,  ///< Some sizes have no valid candidate.
  database = 5,
  device_lost = 6,
  interrupted = 130,
};

/// The headings of the help page, in its order.
enum class VerbGroup { tuning, results, inspection, hidden };

/// A verb as plain data. Its options write to what `run` owns.
struct Verb {
  std::string name;
  VerbGroup group = VerbGroup::hidden;
  std::string help;
  std::vector<std::string> examples = {};  ///< command lines
  std::vector<Option> options = {};
  std::vector<Verb> verbs = {};  ///< the parts, as in `mmtune db check`: one of them must be named, and runs instead
  std::function<ExitCode()> run = {};  ///< what runs; it throws what main.cpp maps to an exit code

  void add(std::string_view heading, std::vector<Option> more) {
    for (Option& option : more) {
      option.group = heading;
      options.push_back(std::move(option));
    }
  }
};

using VerbMaker = Verb (*)();

/// The makers in the order of the files' names. Generated.
const std::vector<VerbMaker>& verb_makers();

/// All verbs, in the order of the help page. Each call makes new ones, whose options have their defaults.
std::vector<Verb> verbs();

/// The verb that is meant where none is written.
inline constexpr std::string_view kMainVerb = "tune";

}  // namespace mmtune
