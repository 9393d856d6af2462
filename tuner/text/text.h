// Cutting command-line text into pieces, and showing what came from anywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mmtune {

/// Without the blanks, tabs and carriage returns at both ends.
inline std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// The trimmed pieces between separators; always at least one, pieces may be empty.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const auto end = text.find(separator);
    pieces.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

/// With a blank for every control character: a file or a foreign database must not steer a terminal.
inline std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return text;
}

/// The beginning of a text, printable, for a message about it.
inline std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return printable(std::string(text.substr(0, kLongest))) + (text.size() > kLongest ? "…" : "");
}

}  // namespace mmtune
