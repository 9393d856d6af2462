// Lists in text that is generated.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace mmtune {

/// What `write` makes of each of the values, or of the value and its position, with `separator` between.
template <class Values, class Write>
std::string joined(const Values& values, std::string_view separator, const Write& write) {
  std::string text;
  std::size_t position = 0;
  for (const auto& value : values) {
    if (position > 0) text += separator;
    if constexpr (std::is_invocable_v<const Write&, decltype(value), std::size_t>) {
      text += write(value, position);
    } else {
      text += write(value);
    }
    ++position;
  }
  return text;
}

}  // namespace mmtune
