#include "tuner/text/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/printable.h"

namespace mmtune {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> pieces_of(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (auto end = text.find(separator); end != text.npos; end = text.find(separator)) {
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  pieces.push_back(text);
  return pieces;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  auto pieces = pieces_of(text, separator);
  for (auto& piece : pieces) piece = trim(piece);
  return pieces;
}

std::string replaced(std::string_view text, const std::vector<std::pair<char, std::string_view>>& letters) {
  std::string result;
  for (const char c : text) {
    const auto found = std::find_if(letters.begin(), letters.end(), [c](const auto& each) { return each.first == c; });
    found == letters.end() ? result += c : result += found->second;
  }
  return result;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (width > 0 && width_of(text) > width) {
    std::size_t end = 0;  // the end of the bytes that fit
    for (std::size_t columns = 0; columns < width; ++columns) end += first_character(text.substr(end)).bytes;
    const std::size_t blank = text.rfind(' ', end);
    const bool has_blank = blank != text.npos && blank > 0;
    lines.emplace_back(text.substr(0, has_blank ? blank : end));
    text.remove_prefix(has_blank ? blank + 1 : end);
  }
  lines.emplace_back(text);
  return lines;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return printable(text.substr(0, kLongest)) + (text.size() > kLongest ? "…" : "");
}

}  // namespace mmtune
