#include "templates/plan/arg.h"

#include <fmt/format.h>

namespace mmtune {

std::string to_string(const Arg& arg) {
  switch (arg.kind) {
    case Arg::Kind::operand:
      return std::string(Arg::operand(static_cast<Operand>(arg.value)).parameter);
    case Arg::Kind::ld:
      return std::string(Arg::ld(static_cast<Operand>(arg.value)).parameter);
    case Arg::Kind::extent:
      return std::string(Arg::extent(static_cast<Extent>(arg.value)).parameter);
    case Arg::Kind::scalar:
      return std::string(Arg::scalar(static_cast<Scalar>(arg.value)).parameter);
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
