// Letters as C++ and SQL have them, in every locale: those of <cctype> follow the locale of the application, and in the
// Turkish one `i` is not the small `I`.
#pragma once

#include <algorithm>
#include <string_view>

namespace mmtune {

constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
constexpr char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}
constexpr bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_same_letter(char a, char b) { return lower(a) == lower(b); }  ///< capital or not
constexpr bool equal_ignoring_case(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), is_same_letter);
}

/// Whether an identifier may have it.
constexpr bool is_of_name(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

}  // namespace mmtune
