// What shells complete, made of the table of verbs and options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/commands/verb.h"

namespace mmtune {

/// The shells that scripts are made for: "bash", "zsh", "fish".
const std::vector<std::string>& shells();

/// The script that teaches one of them to complete verbs, options and their values.
std::string completion_script(std::string_view shell, std::vector<Verb> verbs);

}  // namespace mmtune
