// Words that people write: names, compared with those that are known, and words of a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mmtune {

/// The known name that the written one is nearest to: by letters inserted, left out and replaced, which are at most a
/// third of the known one's, rounded up. Capitals do not matter. Empty where none is that near; of equals the first.
std::string_view nearest_name(std::string_view written, const std::vector<std::string_view>& known);

/// What a message says of an unknown name: "did you mean 'simt'? known are naive, simt", without the question where
/// none is near.
std::string known_names(std::string_view written, const std::vector<std::string_view>& known);

/// The text as a shell reads it: within single quotes where it has blanks or other signs that mean something there.
std::string shell_word(std::string_view text);

}  // namespace mmtune
