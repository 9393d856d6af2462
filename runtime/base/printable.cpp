#include "runtime/base/printable.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace mmtune {
namespace {

constexpr std::array<std::pair<char32_t, char32_t>, 7> kControls{{{0x00, 0x1f},
                                                                  {0x7f, 0x9f},
                                                                  {0x061c, 0x061c},
                                                                  {0x200e, 0x200f},
                                                                  {0x2028, 0x202e},
                                                                  {0x2066, 0x2069},
                                                                  {0xfeff, 0xfeff}}};

/// What the first byte of a character says: how many bytes follow, its own bits, and the least code point of so many.
struct Lead {
  std::size_t followers;
  char32_t bits;
  char32_t least;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {0, byte, 0};
  if (byte >= 0xc0 && byte < 0xe0) return {1, byte & 0x1fu, 0x80};
  if (byte >= 0xe0 && byte < 0xf0) return {2, byte & 0x0fu, 0x800};
  if (byte >= 0xf0 && byte < 0xf8) return {3, byte & 0x07u, 0x10000};
  return {4, 0, 0};  // no character has so many bytes
}

template <class Stays>
std::string escaped(std::string_view text, Stays stays) {
  std::string result;
  while (!text.empty()) {
    const Character first = first_character(text);
    if (first.valid && (!is_control(first.value) || stays(first.value))) {
      result += text.substr(0, first.bytes);
    } else if (first.value < 0x80 || !first.valid) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(first.value));
    } else {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(first.value));
    }
    text.remove_prefix(first.bytes);
  }
  return result;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  const Character invalid{byte, 1, false};
  const Lead lead = lead_of(byte);
  if (lead.followers >= text.size() || lead.followers > 3) return invalid;
  char32_t value = lead.bits;
  for (const char c : text.substr(1, lead.followers)) {
    const auto follower = static_cast<unsigned char>(c);
    if ((follower & 0xc0) != 0x80) return invalid;
    value = value << 6 | (follower & 0x3fu);
  }
  if (value < lead.least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return invalid;
  return {value, lead.followers + 1, true};
}

bool is_control(char32_t character) {
  for (const auto& [first, last] : kControls) {
    if (character >= first && character <= last) return true;
  }
  return false;
}

std::string printable(std::string_view text) {
  return escaped(text, [](char32_t) { return false; });
}

std::string printable_lines(std::string_view text) {
  return escaped(text, [](char32_t c) { return c == '\n' || c == '\t'; });
}

}  // namespace mmtune
