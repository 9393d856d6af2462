// What the number formats of <mmtune/types.h> mean to a kernel and to an error bound.
#pragma once

#include <mmtune/types.h>

#include <string_view>

namespace mmtune {

struct PrecisionTraits {
  Precision precision;
  std::string_view name;         ///< "fp32": tables, databases, command line
  int element_bytes;             ///< of one element of A, B and C
  int accumulator_bytes;         ///< of one partial sum
  std::string_view element;      ///< type of A, B and C in rendered sources; declared in device/numeric.cuh
  std::string_view accumulator;  ///< type of partial sums in rendered sources
  std::string_view scalar;       ///< type of alpha and beta in rendered sources and in kernel arguments
  int scalar_bytes;
  bool integer;                 ///< exact modulo 2^32: any difference from the reference is an error
  double element_roundoff;      ///< unit roundoff of a stored element; 0 for integers
  double accumulator_roundoff;  ///< unit roundoff of a partial sum; 0 for integers
};

/// Never fails: every Precision has traits.
const PrecisionTraits& traits(Precision precision);

}  // namespace mmtune
