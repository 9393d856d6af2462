// The part of an epilogue that a program is rendered for; the bias itself is an operand.
#pragma once

#include <mmtune/epilogue.h>

#include <string>

namespace mmtune {

/// A property of a program, not of a problem: the configuration that is chosen for a problem is rendered with it.
struct Fusion {
  Activation activation = Activation::none;
  Bias bias = Bias::none;

  constexpr bool is_empty() const { return activation == Activation::none && bias == Bias::none; }

  friend bool operator==(const Fusion&, const Fusion&) = default;
};

/// "bias per row and gelu", "relu"; empty for an empty one.
std::string to_string(const Fusion& fusion);

}  // namespace mmtune
