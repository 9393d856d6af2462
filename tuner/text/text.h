// Cutting command-line text into pieces, and showing what came from anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mmtune {

/// The text without the blanks, tabs and carriage returns at both ends.
std::string_view trim(std::string_view text);

/// The pieces between separators; always at least one, pieces may be empty.
std::vector<std::string_view> pieces_of(std::string_view text, char separator);

/// The trimmed pieces.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The text with these letters replaced.
std::string replaced(std::string_view text, const std::vector<std::pair<char, std::string_view>>& letters);

/// The beginning of a text, printable, for a message about it.
std::string excerpt(std::string_view text);

/// The columns that UTF-8 text takes, if it has no wide characters.
std::size_t width_of(std::string_view text);

/// The text in lines of at most `width` columns, at least one line, broken at blanks where there are any.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// "1 size", "2 sizes".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace mmtune
