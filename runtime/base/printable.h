// Text that came from anywhere, for a terminal: names in a foreign database, words of the command line, files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mmtune {

/// The character that a text begins with.
struct Character {
  char32_t value = 0;     ///< its code point, or the byte where that is no UTF-8
  std::size_t bytes = 1;  ///< the number of its bytes
  bool valid = true;      ///< whether it is UTF-8: the shortest form, no surrogate
};

/// The first character of a text that is not empty.
Character first_character(std::string_view text);

/// Whether a character acts on a terminal instead of being seen: controls (U+0000 to U+001F, U+007F to U+009F), line
/// and paragraph separators, the byte-order mark, and what changes the direction of text (Unicode Standard Annex 9,
/// section 2).
bool is_control(char32_t character);

/// The text with every control character written out, "\x1b" or "\u202e", and every byte that is no UTF-8.
std::string printable(std::string_view text);

/// The same, in which line breaks and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace mmtune
