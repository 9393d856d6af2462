// What may be done to the results of a product before they are rounded and stored.
#pragma once

#include <array>
#include <string_view>

namespace mmtune {

/// A function of each result. Numbers are those of the kernels (templates/device/activation.cuh) and of the C
/// interface: never renumber.
enum class Activation : int {
  none = 0,
  relu = 1,  ///< max(x, 0); a NaN stays one
  /// x times the normal distribution's share below x, by the error function (D. Hendrycks, K. Gimpel, "Gaussian Error
  /// Linear Units (GELUs)", 2016), not its approximation by tanh. Not for integers.
  gelu = 2,
};

inline constexpr std::array kAllActivations{Activation::none, Activation::relu, Activation::gelu};

/// What of a vector is added to C[row, column] of the caller's matrix.
enum class Bias : int {
  none = 0,
  per_row = 1,     ///< The bias has an element for each row of m.
  per_column = 2,  ///< The bias has an element for each column of n.
};

inline constexpr std::array kAllBiases{Bias::none, Bias::per_row, Bias::per_column};

/// C = activation(alpha * op(A) * op(B) + beta * C + bias).
struct Epilogue {
  Activation activation = Activation::none;
  Bias bias = Bias::none;
  const void* bias_vector = nullptr;  ///< device address of elements in the format of C, without gaps
};

/// "none", "relu", "gelu".
std::string_view to_string(Activation activation);

/// "none", "per row", "per column".
std::string_view to_string(Bias bias);

}  // namespace mmtune
