// The page that `man mmtune` shows, made of the table of verbs and options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/commands/verb.h"

namespace mmtune {

/// The page in the language of man(7).
std::string manual_page(const std::vector<Verb>& verbs, std::string_view version);

}  // namespace mmtune
