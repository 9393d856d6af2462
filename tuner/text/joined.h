// Lists in generated text.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace mmtune {

/// What `write` makes of each of the values, with commas between.
template <class Values, class Write>
std::string joined(const Values& values, const Write& write) {
  std::vector<std::string> texts;
  for (const auto& value : values) texts.push_back(write(value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace mmtune
