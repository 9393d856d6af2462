// Which rows of a database a verb is about: those of some GPUs, precisions, layouts and sizes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/store.h"
#include "tuner/commands/options.h"
#include "tuner/text/sizes.h"

namespace mmtune {

/// --precision and --layout, where all are meant without them, which `options` is set to.
std::vector<Option> selected_problem_options(Options& options);

/// These, and --device, here a part of a GPU's name.
std::vector<Option> selection_options(Options& options);

/// Whether a text contains a part, in any case of ASCII's letters.
bool contains_in_any_case(std::string_view text, std::string_view part);

/// --sizes, where all are meant without it.
Option selected_sizes_option(std::string& sizes);

/// The sizes that its text names; none stands for all.
std::vector<Size> selected_sizes(const std::string& text);

bool is_selected(const Problem& problem, const Options& options, const std::vector<Size>& sizes);
/// `family`: the name of the only one; empty: all.
bool is_selected(const TrialKey& key, const Options& options, const std::vector<Size>& sizes = {},
                 std::string_view family = {});

/// The database, for reading. No default one yet is no error; one that the user names must be there.
std::optional<Store> stored_results(const Options& options);

}  // namespace mmtune
