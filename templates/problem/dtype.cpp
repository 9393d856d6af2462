#include "templates/problem/dtype.h"

#include <tuple>

namespace mmtune {
namespace {

// Unit roundoff is 2^-(bits of the significand, the hidden one included). f64: its smallest number is that of double.
// clang-format off
constexpr FormatTraits kF32{NumberFormat::f32, "float", 4, false, 0x1p-24, 0x1p-149};
constexpr FormatTraits kF64{NumberFormat::f64, "double", 8, false, 0x1p-53, 0};
constexpr FormatTraits kI32{NumberFormat::i32, "int", 4, true, 0, 0};
constexpr FormatTraits kU32{NumberFormat::u32, "unsigned", 4, true, 0, 0};
constexpr FormatTraits kF16{NumberFormat::f16, "half_t", 2, false, 0x1p-11, 0x1p-24};
constexpr FormatTraits kBf16{NumberFormat::bf16, "bfloat_t", 2, false, 0x1p-8, 0x1p-133};
constexpr FormatTraits kI8{NumberFormat::i8, "signed char", 1, true, 0, 0};
constexpr FormatTraits kE4m3{NumberFormat::e4m3, "e4m3_t", 1, false, 0x1p-4, 0x1p-9};
constexpr FormatTraits kE5m2{NumberFormat::e5m2, "e5m2_t", 1, false, 0x1p-3, 0x1p-16};

// IEEE 754 fused multiply-add. Tensor cores truncate the sum of 16 exact products and what was there, an error of twice
// the roundoff for every 16 additions, which stays below that of as many fused ones.
constexpr Arithmetic kFusedF32{.sum_roundoff = kF32.roundoff};
constexpr Arithmetic kFusedF64{.sum_roundoff = kF64.roundoff};
constexpr Arithmetic kWrapping{};  // Sums are exact modulo 2^32: they are unsigned, whose overflow is defined.

// Tensor cores read 11 significant bits of a factor, rounded to nearest, and truncate a sum for every 4 products, which
// errs as much as 4 fused additions.
constexpr Arithmetic kTf32{.factor_roundoff = 0x1p-11, .sum_roundoff = kF32.roundoff};

// Hopper's tensor cores keep 13 bits of the fraction of a sum of 32 fp8 products and what was there, and truncate the
// rest (DeepSeek-V3 Technical Report, section 3.5.2): no more than 128 steps may be summed that way.
constexpr Arithmetic kFp8{.sum_roundoff = 0x1p-13, .sum_steps = 32, .promotion_steps = 128};

constexpr std::array<PrecisionTraits, kAllPrecisions.size()> kTraits{{
    {.precision = Precision::fp32, .name = "fp32", .a = kF32, .b = kF32, .c = kF32, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::core_fp32},
    {.precision = Precision::fp64, .name = "fp64", .a = kF64, .b = kF64, .c = kF64, .accumulator = kF64,
     .scalar = kF64, .arithmetic = kFusedF64, .unit = Unit::tensor_fp64},
    {.precision = Precision::int32, .name = "int32", .a = kI32, .b = kI32, .c = kI32, .accumulator = kU32,
     .scalar = kI32, .arithmetic = kWrapping, .unit = Unit::core_int32},
    {.precision = Precision::fp16, .name = "fp16", .a = kF16, .b = kF16, .c = kF16, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::tensor_fp16},
    {.precision = Precision::bf16, .name = "bf16", .a = kBf16, .b = kBf16, .c = kBf16, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::tensor_bf16},
    {.precision = Precision::fp16_fp32, .name = "fp16_fp32", .a = kF16, .b = kF16, .c = kF32, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::tensor_fp16},
    {.precision = Precision::bf16_fp32, .name = "bf16_fp32", .a = kBf16, .b = kBf16, .c = kF32, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::tensor_bf16},
    {.precision = Precision::tf32, .name = "tf32", .a = kF32, .b = kF32, .c = kF32, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kTf32, .unit = Unit::tensor_tf32},
    {.precision = Precision::int8, .name = "int8", .a = kI8, .b = kI8, .c = kI32, .accumulator = kU32,
     .scalar = kI32, .arithmetic = kWrapping, .unit = Unit::tensor_int8},
    {.precision = Precision::e4m3_bf16, .name = "e4m3_bf16", .a = kE4m3, .b = kE4m3, .c = kBf16, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFp8, .unit = Unit::tensor_fp8},
    {.precision = Precision::e4m3_fp32, .name = "e4m3_fp32", .a = kE4m3, .b = kE4m3, .c = kF32, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFp8, .unit = Unit::tensor_fp8},
    {.precision = Precision::e5m2_bf16, .name = "e5m2_bf16", .a = kE5m2, .b = kE5m2, .c = kBf16, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFp8, .unit = Unit::tensor_fp8},
    {.precision = Precision::e5m2_fp32, .name = "e5m2_fp32", .a = kE5m2, .b = kE5m2, .c = kF32, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFp8, .unit = Unit::tensor_fp8},
    {.precision = Precision::fp32_emulated, .name = "fp32_emulated", .a = kF32, .b = kF32, .c = kF32,
     .accumulator = kF32, .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::tensor_fp16, .unit_products = 3},
    {.precision = Precision::bf16_x_fp32, .name = "bf16_x_fp32", .a = kBf16, .b = kF32, .c = kF32,
     .accumulator = kF32, .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::tensor_bf16, .unit_products = 3},
}};
// clang-format on

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (kTraits[i].precision != kAllPrecisions[i] || static_cast<std::size_t>(kTraits[i].precision) != i) return false;
  }
  return true;
}
static_assert(in_order(), "every precision has a row, at the place that its number says");

}  // namespace

const PrecisionTraits& traits(Precision precision) { return kTraits[static_cast<std::size_t>(precision)]; }

bool are_alike(Precision x, Precision y) {
  const auto kind = [](Precision precision) {
    const PrecisionTraits& types = traits(precision);
    const Unit unit = types.unit == Unit::tensor_bf16 ? Unit::tensor_fp16 : types.unit;
    return std::tuple(types.a.bytes, types.b.bytes, types.accumulator.format, types.arithmetic.promotion_steps, unit,
                      types.unit_products);
  };
  return kind(x) == kind(y);
}

bool multiplies_narrow_floats(const PrecisionTraits& types) {
  const Unit unit = types.unit;
  return types.unit_products == 1 &&
         (unit == Unit::tensor_fp16 || unit == Unit::tensor_bf16 || unit == Unit::tensor_fp8);
}

Unit core_unit(Precision precision) {
  const FormatTraits& accumulator = traits(precision).accumulator;
  if (accumulator.integer) return Unit::core_int32;
  return accumulator.format == NumberFormat::f64 ? Unit::core_fp64 : Unit::core_fp32;
}

bool is_of_tensor_cores(const PrecisionTraits& types) { return types.unit != core_unit(types.precision); }

}  // namespace mmtune
