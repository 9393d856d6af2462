#include "templates/space/neighbours.h"

#include <algorithm>
#include <array>

namespace mmtune {
namespace {

enum class Direction { down, up };
constexpr std::array kDirections{Direction::down, Direction::up};

/// Moves a parameter by one place; false at the end of its table.
bool move(Digits& digits, const std::vector<std::size_t>& sizes, std::size_t position, Direction direction) {
  std::size_t& digit = digits[position];
  if (direction == Direction::down ? digit == 0 : digit + 1 >= sizes[position]) return false;
  digit = direction == Direction::down ? digit - 1 : digit + 1;
  return true;
}

}  // namespace

std::vector<Digits> neighbours(const Digits& digits, const std::vector<std::size_t>& sizes,
                               const std::function<bool(const Digits&)>& allowed) {
  std::vector<Digits> found;
  const auto keep_if_allowed = [&](const Digits& candidate) {
    if (!allowed(candidate)) return false;
    if (std::find(found.begin(), found.end(), candidate) == found.end()) found.push_back(candidate);
    return true;
  };
  const auto keep_pairs = [&](const Digits& one, std::size_t i, Direction back) {
    for (std::size_t j = 0; j < digits.size(); ++j) {
      Digits both = one;
      while (j != i && move(both, sizes, j, back) && !keep_if_allowed(both)) {
      }
    }
  };
  for (const Direction direction : kDirections) {
    for (std::size_t i = 0; i < digits.size(); ++i) {
      Digits one = digits;
      while (move(one, sizes, i, direction) && !keep_if_allowed(one)) {
      }
    }
  }
  for (const Direction direction : kDirections) {
    const Direction back = direction == Direction::down ? Direction::up : Direction::down;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      Digits one = digits;
      if (!move(one, sizes, i, direction)) continue;
      keep_pairs(one, i, back);
      if (allowed(one)) continue;
      while (move(one, sizes, i, direction) && !allowed(one)) {
      }
      keep_pairs(one, i, back);
    }
  }
  return found;
}

}  // namespace mmtune
