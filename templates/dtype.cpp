#include "templates/dtype.h"

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

// IEEE 754 fused multiply-add. Tensor cores truncate the sum of 16 exact products and what was there, an error of twice
// the roundoff for every 16 additions, which stays below that of as many fused ones.
constexpr Arithmetic kFusedF32{.sum_roundoff = kF32.roundoff};
constexpr Arithmetic kFusedF64{.sum_roundoff = kF64.roundoff};
constexpr Arithmetic kWrapping{};  // exact modulo 2^32: sums are unsigned, whose overflow is defined

constexpr std::array<PrecisionTraits, kAllPrecisions.size()> kTraits{{
    {.precision = Precision::fp32, .name = "fp32", .a = kF32, .b = kF32, .c = kF32, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::core_fp32},
    {.precision = Precision::fp64, .name = "fp64", .a = kF64, .b = kF64, .c = kF64, .accumulator = kF64,
     .scalar = kF64, .arithmetic = kFusedF64, .unit = Unit::core_fp64},
    {.precision = Precision::int32, .name = "int32", .a = kI32, .b = kI32, .c = kI32, .accumulator = kU32,
     .scalar = kI32, .arithmetic = kWrapping, .unit = Unit::core_int32},
    {.precision = Precision::fp16, .name = "fp16", .a = kF16, .b = kF16, .c = kF16, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::tensor_fp16},
    {.precision = Precision::bf16, .name = "bf16", .a = kBf16, .b = kBf16, .c = kBf16, .accumulator = kF32,
     .scalar = kF32, .arithmetic = kFusedF32, .unit = Unit::tensor_bf16},
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

Unit core_unit(Precision precision) {
  const FormatTraits& accumulator = traits(precision).accumulator;
  if (accumulator.integer) return Unit::core_int32;
  return accumulator.format == NumberFormat::f64 ? Unit::core_fp64 : Unit::core_fp32;
}

}  // namespace mmtune
