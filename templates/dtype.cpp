#include "templates/dtype.h"

namespace mmtune {

namespace {

// Unit roundoff is half the distance from 1 to the next number: 2^-(bits of the significand, the hidden one included).
constexpr double kHalf = 0x1p-11;
constexpr double kBfloat = 0x1p-8;
constexpr double kSingle = 0x1p-24;
constexpr double kDouble = 0x1p-53;

// int32 accumulates in unsigned, whose overflow is defined: the result is exact modulo 2^32.
// clang-format off
constexpr std::array<PrecisionTraits, 5> kTraits{{
    {.precision = Precision::fp32, .name = "fp32", .element_bytes = 4, .accumulator_bytes = 4,
     .element = "float", .accumulator = "float", .scalar = "float", .scalar_bytes = 4,
     .integer = false, .element_roundoff = kSingle, .accumulator_roundoff = kSingle},
    {.precision = Precision::fp64, .name = "fp64", .element_bytes = 8, .accumulator_bytes = 8,
     .element = "double", .accumulator = "double", .scalar = "double", .scalar_bytes = 8,
     .integer = false, .element_roundoff = kDouble, .accumulator_roundoff = kDouble},
    {.precision = Precision::int32, .name = "int32", .element_bytes = 4, .accumulator_bytes = 4,
     .element = "int", .accumulator = "unsigned", .scalar = "int", .scalar_bytes = 4,
     .integer = true, .element_roundoff = 0, .accumulator_roundoff = 0},
    {.precision = Precision::fp16, .name = "fp16", .element_bytes = 2, .accumulator_bytes = 4,
     .element = "half_t", .accumulator = "float", .scalar = "float", .scalar_bytes = 4,
     .integer = false, .element_roundoff = kHalf, .accumulator_roundoff = kSingle},
    {.precision = Precision::bf16, .name = "bf16", .element_bytes = 2, .accumulator_bytes = 4,
     .element = "bfloat_t", .accumulator = "float", .scalar = "float", .scalar_bytes = 4,
     .integer = false, .element_roundoff = kBfloat, .accumulator_roundoff = kSingle},
}};
// clang-format on

}  // namespace

const PrecisionTraits& traits(Precision precision) { return kTraits[static_cast<std::size_t>(precision)]; }

}  // namespace mmtune
