#include "templates/base/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "templates/base/letters.h"

namespace mmtune {
namespace {

/// Levenshtein's distance, row by row of its table.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : from) {
    std::size_t diagonal = row[0]++;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t replaced = diagonal + (is_same_letter(letter, to[i]) ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({replaced, row[i] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view written, const std::vector<std::string_view>& known) {
  std::string_view nearest;
  std::size_t least = 0;
  for (const std::string_view name : known) {
    // What is longer by more than the limit is not near, and need not be looked at: it may be of any length.
    const std::size_t limit = (name.size() + 2) / 3;
    if (written.size() > name.size() + limit) continue;
    const std::size_t steps = distance(written, name);
    if (steps > limit || (!nearest.empty() && steps >= least)) continue;
    nearest = name;
    least = steps;
  }
  return nearest;
}

std::string known_names(std::string_view written, const std::vector<std::string_view>& known) {
  const std::string_view nearest = nearest_name(written, known);
  const std::string all = fmt::format("{}", fmt::join(known, ", "));
  return nearest.empty() ? fmt::format("known are {}", all)
                         : fmt::format("did you mean '{}'? known are {}", nearest, all);
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "%+,-./:=@";
  const auto is_plain = [&](char c) {
    return is_of_name(c) || static_cast<unsigned char>(c) >= 0x80 || kPlain.find(c) != kPlain.npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? R"('\'')" : std::string(1, c);
  return word + "'";
}

}  // namespace mmtune
