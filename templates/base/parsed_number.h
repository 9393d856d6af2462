// Numbers that are written in decimal.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace mmtune {

/// The number that all of the text is, without blanks or a plus sign; nothing for any other text, and for a number that
/// the type does not hold.
template <class Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace mmtune
