// What is multiplied, as rows of tables: number formats, and the precisions of <mmtune/types.h> that are made of them.
// A new precision is a row of the table in dtype.cpp; a new format is one there too, with its conversions in
// device/numeric.cuh. Everything else reads these rows.
#pragma once

#include <mmtune/types.h>

#include <cstddef>
#include <string_view>

namespace mmtune {

/// How a number is stored.
enum class NumberFormat { f32, f64, i32, u32, f16, bf16, i8, e4m3, e5m2 };

struct FormatTraits {
  NumberFormat format;
  std::string_view type;  ///< the name in rendered sources; device/numeric.cuh declares it and its conversions
  int bytes;
  bool integer;     ///< whether they are whole numbers, exact modulo 2^(8 bytes)
  double roundoff;  ///< the unit roundoff, half the distance from 1 to the next number; 0 for integers
  double smallest;  ///< the smallest positive number, a subnormal one; 0 where its half is no double
};

/// Whether numbers of one format are also those of the other, bit by bit: they can be copied without a conversion.
constexpr bool same_bits(const FormatTraits& x, const FormatTraits& y) {
  return x.format == y.format || (x.integer && y.integer && x.bytes == y.bytes);
}

/// How products are summed, as far as errors follow from it: see templates/problem/error_bound.h.
struct Arithmetic {
  double factor_roundoff = 0;  ///< the rounding of a factor before it is multiplied; 0: it enters as it is stored
  double sum_roundoff = 0;     ///< the roundoff of an addition, twice the unit roundoff where it truncates; 0: none
  int sum_steps = 1;           ///< the steps along k whose exact products one addition takes in
  int promotion_steps = 0;  ///< the steps along k after which a sum goes to one in the accumulator's format; 0: never
};

/// What multiplies and adds, each at a rate of its own: CUDA cores (half2: two fp16 at once) and tensor cores, by what
/// they multiply. Sums of tensor cores are those of a gemm: fp64, int32 for int8, else fp32.
enum class Unit {
  core_fp32,
  core_fp64,
  core_int32,
  core_half2,
  tensor_fp64,
  tensor_tf32,
  tensor_fp16,
  tensor_bf16,
  tensor_int8,
  tensor_fp8,
};
inline constexpr std::size_t kUnits = 10;

struct PrecisionTraits {
  Precision precision;
  std::string_view name;     ///< "fp32", as in tables, databases and on the command line
  FormatTraits a, b, c;      ///< elements of the operands
  FormatTraits accumulator;  ///< partial sums
  FormatTraits scalar;       ///< alpha and beta, also as kernel arguments
  Arithmetic arithmetic;     ///< the most that a kernel may do to its sums
  Unit unit;                 ///< the unit whose rate is the peak, over unit_products
  int unit_products = 1;     ///< the number of the unit's products that one of this precision takes
};

/// Never fails: every Precision has traits.
const PrecisionTraits& traits(Precision precision);

/// Whether a kernel takes the same time in both precisions, or nearly: what it fetches, multiplies and adds is as
/// large, and as fast.
bool are_alike(Precision x, Precision y);

/// Whether each product is one of tensor cores that multiply floating point of 16 or 8 bits.
bool multiplies_narrow_floats(const PrecisionTraits& types);

/// The CUDA cores that multiply in the accumulator's format: what kernels without tensor cores use, and GPUs without
/// them have.
Unit core_unit(Precision precision);

/// Whether the precision's row names tensor cores.
bool is_of_tensor_cores(const PrecisionTraits& types);

}  // namespace mmtune
