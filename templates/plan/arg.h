// What a kernel gets for one of its parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mmtune {

enum class Operand : std::uint8_t { a, b, c };
enum class Extent : std::uint8_t { m, n, k };
enum class Scalar : std::uint8_t { alpha, beta };

/// A value type: a kind, which one of that kind, and the name of the parameter that gets it. Rendering holds the names
/// against the kernel's own (templates/family/kernel_parameters.h).
struct Arg {
  enum class Kind : std::uint8_t {
    operand,  ///< the address of A, B or C
    ld,       ///< the leading dimension of A, B or C in elements, 64-bit signed
    extent,   ///< an extent of the problem, 64-bit signed
    scalar,   ///< alpha or beta in the precision's scalar type (templates/problem/dtype.h)
    slice,    ///< the address of a slice of the workspace; null where the slice is empty
    map,      ///< a tensor map, to be passed as `const __grid_constant__ ProductMap`
    number,   ///< a 64-bit signed integer that the plan knows
  };

  Kind kind = Kind::number;
  std::int64_t value = 0;  ///< an Operand, an Extent or a Scalar, the index of a slice or a map, or the number itself
  /// A literal. What a gemm has from the start has the name that BLAS gives it; all else is named by as().
  std::string_view parameter = "";

  static constexpr Arg operand(Operand which) { return of(Kind::operand, which, {"A", "B", "C"}); }
  static constexpr Arg ld(Operand which) { return of(Kind::ld, which, {"lda", "ldb", "ldc"}); }
  static constexpr Arg extent(Extent which) { return of(Kind::extent, which, {"m", "n", "k"}); }
  static constexpr Arg scalar(Scalar which) { return of(Kind::scalar, which, {"alpha", "beta", ""}); }
  static constexpr Arg slice(std::size_t index) { return {Kind::slice, static_cast<std::int64_t>(index)}; }
  static constexpr Arg map(std::size_t index) { return {Kind::map, static_cast<std::int64_t>(index)}; }
  static constexpr Arg number(std::int64_t number) { return {Kind::number, number}; }

  /// This value as the argument for the parameter of that name, a literal.
  constexpr Arg as(std::string_view name) const { return {kind, value, name}; }

  /// Which one of its kind: a position in plan.workspace.slices(), plan.maps, or in the order of the enum.
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

  /// Whether a launch passes the same, whatever it is called.
  friend constexpr bool operator==(const Arg& x, const Arg& y) { return x.kind == y.kind && x.value == y.value; }

 private:
  template <class Which>
  static constexpr Arg of(Kind kind, Which which, std::array<std::string_view, 3> names) {
    const auto value = static_cast<std::int64_t>(which);
    return {kind, value, value >= 0 && value < 3 ? names[static_cast<std::size_t>(value)] : ""};
  }
};

/// "A", "lda", "m", "alpha", "slice 2", "map 0", "4096".
std::string to_string(const Arg& arg);

}  // namespace mmtune
