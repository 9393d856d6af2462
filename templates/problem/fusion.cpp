#include "templates/problem/fusion.h"

#include <fmt/format.h>

#include <vector>

namespace mmtune {

std::string_view to_string(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::none:
      break;
  }
  return "none";
}

std::string_view to_string(Bias bias) {
  switch (bias) {
    case Bias::per_row:
      return "per row";
    case Bias::per_column:
      return "per column";
    case Bias::none:
      break;
  }
  return "none";
}

std::string to_string(const Fusion& fusion) {
  std::vector<std::string> parts;
  if (fusion.bias != Bias::none) parts.push_back(fmt::format("bias {}", to_string(fusion.bias)));
  if (fusion.activation != Activation::none) parts.emplace_back(to_string(fusion.activation));
  if (fusion.loads_scalars) parts.emplace_back("loaded scalars");
  if (fusion.batched) parts.emplace_back("batched launches");
  return fmt::format("{}", fmt::join(parts, " and "));
}

}  // namespace mmtune
