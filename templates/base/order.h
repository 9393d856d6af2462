// Sorting without moving what is sorted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace mmtune {

/// The places 0 to count - 1, first those of which before(place, other) says so; equal ones stay as they are.
template <class Before>
std::vector<std::size_t> places_in_order(std::size_t count, const Before& before) {
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), before);
  return places;
}

}  // namespace mmtune
