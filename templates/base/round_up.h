// Whole multiples of a unit: of bytes that must be aligned, of blocks that fill clusters.
#pragma once

#include <concepts>
#include <type_traits>

namespace mmtune {

/// The least multiple of `unit` that is no less than `value`. The value is not negative, the unit over 0.
template <std::integral T>
constexpr T round_up(T value, std::type_identity_t<T> unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace mmtune
