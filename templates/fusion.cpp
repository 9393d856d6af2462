#include "templates/fusion.h"

#include <fmt/format.h>

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
  std::string text;
  if (fusion.bias != Bias::none) text = fmt::format("bias {}", to_string(fusion.bias));
  if (fusion.activation == Activation::none) return text;
  return fmt::format("{}{}{}", text, text.empty() ? "" : " and ", to_string(fusion.activation));
}

}  // namespace mmtune
