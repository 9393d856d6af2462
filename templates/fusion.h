// What a program is rendered for besides its problem: the kind of an epilogue, and where alpha and beta are.
#pragma once

#include <mmtune/epilogue.h>

#include <string>

namespace mmtune {

/// A property of a program, not of a problem: the configuration that is chosen for a problem is rendered with it.
struct Fusion {
  Activation activation = Activation::none;
  Bias bias = Bias::none;
  bool loads_scalars = false;  ///< alpha and beta are in device memory

  constexpr bool has_epilogue() const { return activation != Activation::none || bias != Bias::none; }
  constexpr bool is_empty() const { return !has_epilogue() && !loads_scalars; }

  friend bool operator==(const Fusion&, const Fusion&) = default;
};

/// "bias per row and gelu", "relu and loaded scalars"; empty for an empty one.
std::string to_string(const Fusion& fusion);

}  // namespace mmtune
