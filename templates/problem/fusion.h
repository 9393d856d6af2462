// What a program is rendered for besides its problem: the kind of an epilogue, where alpha and beta are, and whether it
// computes a batch.
#pragma once

#include <mmtune/epilogue.h>

#include <string>

namespace mmtune {

/// A property of a program, not of a problem: the configuration that is chosen for a problem is rendered with it.
struct Fusion {
  Activation activation = Activation::none;
  Bias bias = Bias::none;
  bool loads_scalars = false;  ///< whether alpha and beta are in device memory
  bool batched = false;        ///< whether a launch has several products: launch() of runtime/gpu/launch.h with a Batch

  constexpr bool has_epilogue() const { return activation != Activation::none || bias != Bias::none; }
  /// Whether alpha and beta are those of templates/device/fused.cuh.
  constexpr bool extends_scalars() const { return has_epilogue() || loads_scalars; }
  constexpr bool is_empty() const { return !extends_scalars() && !batched; }

  /// The same for each product by itself.
  constexpr Fusion unbatched() const { return {activation, bias, loads_scalars, false}; }

  friend bool operator==(const Fusion&, const Fusion&) = default;
};

/// "bias per row and gelu", "relu and batched launches"; empty for an empty one.
std::string to_string(const Fusion& fusion);

}  // namespace mmtune
