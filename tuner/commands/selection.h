// Which rows of a database a verb is about: those of some GPUs, precisions and layouts.
#pragma once

#include <string_view>
#include <vector>

#include "db/trial.h"
#include "tuner/commands/options.h"

namespace mmtune {

/// --device, here a part of a GPU's name, --precision and --layout. All rows are selected where none is given, which
/// `options` is set to.
std::vector<Option> selection_options(Options& options);

/// Whether a text contains a part, in any case of ASCII's letters.
bool contains_in_any_case(std::string_view text, std::string_view part);

bool is_selected(const TrialKey& key, const Options& options);

}  // namespace mmtune
