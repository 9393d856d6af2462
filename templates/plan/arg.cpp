#include "templates/plan/arg.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace mmtune {

std::string to_string(const Arg& arg) {
  constexpr std::array<std::string_view, 3> kOperands = {"A", "B", "C"};
  constexpr std::array<std::string_view, 3> kLeadingDimensions = {"lda", "ldb", "ldc"};
  constexpr std::array<std::string_view, 3> kExtents = {"m", "n", "k"};
  constexpr std::array<std::string_view, 2> kScalars = {"alpha", "beta"};
  switch (arg.kind) {
    case Arg::Kind::operand:
      return std::string(kOperands.at(arg.index()));
    case Arg::Kind::ld:
      return std::string(kLeadingDimensions.at(arg.index()));
    case Arg::Kind::extent:
      return std::string(kExtents.at(arg.index()));
    case Arg::Kind::scalar:
      return std::string(kScalars.at(arg.index()));
    case Arg::Kind::slice:
      return fmt::format("slice {}", arg.value);
    case Arg::Kind::map:
      return fmt::format("map {}", arg.value);
    case Arg::Kind::number:
      break;
  }
  return fmt::format("{}", arg.value);
}

}  // namespace mmtune
