// What a kernel gets for one of its parameters.
#pragma once

#include <cstdint>
#include <string>

namespace mmtune {

enum class Operand : std::uint8_t { a, b, c };
enum class Extent : std::uint8_t { m, n, k };
enum class Scalar : std::uint8_t { alpha, beta };

/// A value type: a kind, and which one of that kind.
struct Arg {
  enum class Kind : std::uint8_t {
    operand,  ///< the address of A, B or C
    ld,       ///< the leading dimension of A, B or C in elements, 64-bit signed
    extent,   ///< of the problem, 64-bit signed
    scalar,   ///< in the precision's scalar type (templates/problem/dtype.h)
    slice,    ///< the address of a slice of the workspace; null where the slice is empty
    map,      ///< a tensor map, to be passed as `const __grid_constant__ ProductMap`
    number,   ///< a 64-bit signed integer that the plan knows
  };

  Kind kind = Kind::number;
  std::int64_t value = 0;  ///< an Operand, an Extent or a Scalar, the index of a slice or a map, or the number itself

  static constexpr Arg operand(Operand which) { return {Kind::operand, static_cast<std::int64_t>(which)}; }
  static constexpr Arg ld(Operand of) { return {Kind::ld, static_cast<std::int64_t>(of)}; }
  static constexpr Arg extent(Extent which) { return {Kind::extent, static_cast<std::int64_t>(which)}; }
  static constexpr Arg scalar(Scalar which) { return {Kind::scalar, static_cast<std::int64_t>(which)}; }
  static constexpr Arg slice(std::size_t index) { return {Kind::slice, static_cast<std::int64_t>(index)}; }
  static constexpr Arg map(std::size_t index) { return {Kind::map, static_cast<std::int64_t>(index)}; }
  static constexpr Arg number(std::int64_t number) { return {Kind::number, number}; }

  /// Which one of its kind: a position in plan.workspace.slices(), plan.maps, or in the order of the enum.
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

  friend bool operator==(const Arg&, const Arg&) = default;
};

/// "A", "lda", "m", "alpha", "slice 2", "map 0", "4096".
std::string to_string(const Arg& arg);

}  // namespace mmtune
