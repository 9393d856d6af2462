// The pages that --help prints, made of the table of verbs and options.
#pragma once

#include <string>
#include <vector>

#include "tuner/commands/verb.h"

namespace mmtune {

/// What the program is for, its verbs, and how to go on.
std::string help_page(const std::vector<Verb>& verbs);

/// The page of one verb; `path` is how it is called: "mmtune db prune".
std::string help_page(const Verb& verb, const std::string& path);

inline constexpr std::string_view kPurpose =
    "Finds the fastest matrix-multiplication kernel for each size on a GPU and remembers it";

/// "Tuning": the heading of these verbs.
std::string_view heading(VerbGroup group);

/// "FAMILY [OPTIONS]": what follows the words of the verb.
std::string synopsis(const Verb& verb);

/// What an option does, with its choices and its default.
std::string description(const Option& option);

}  // namespace mmtune
