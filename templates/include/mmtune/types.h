// The vocabulary of the public API: number formats, transpositions and how they are written in text.
//
// All matrices are row-major. Enum values and names are stored in databases: never renumber, never rename.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace mmtune {

/// How the elements of A, B and C are stored, and how products are summed. A name of one format is that of A, B and C;
/// of two, as in fp16_fp32, the second is that of C; with an x between them, A has the first, B and C the second.
enum class Precision : int {
  fp32 = 0,
  fp64 = 1,
  int32 = 2,  ///< modulo 2^32
  fp16 = 3,   ///< Sums are in fp32, as for all that follow but int8.
  bf16 = 4,
  fp16_fp32 = 5,
  bf16_fp32 = 6,
  tf32 = 7,       ///< stored as fp32; factors may be rounded to 11 significant bits
  int8 = 8,       ///< C and its sums are int32, modulo 2^32
  e4m3_bf16 = 9,  ///< e4m3 and e5m2: the two 8-bit floating-point formats, by the bits of exponent and fraction
  e4m3_fp32 = 10,
  e5m2_bf16 = 11,
  e5m2_fp32 = 12,
  fp32_emulated = 13,  ///< fp32, and as precise; tensor cores may multiply parts of the factors
  bf16_x_fp32 = 14,    ///< as precise as fp32; A and B change places where matrices are column-major
};

inline constexpr std::array kAllPrecisions{
    Precision::fp32,      Precision::fp64,      Precision::int32,     Precision::fp16,          Precision::bf16,
    Precision::fp16_fp32, Precision::bf16_fp32, Precision::tf32,      Precision::int8,          Precision::e4m3_bf16,
    Precision::e4m3_fp32, Precision::e5m2_bf16, Precision::e5m2_fp32, Precision::fp32_emulated, Precision::bf16_x_fp32,
};

/// The precision where none is named.
inline constexpr Precision kDefaultPrecision = Precision::fp32;

/// op(A) and op(B), in that order; `n` is as stored, `t` is transposed.
/// With op = n, A is stored as A[m,k] and B as B[k,n]; with op = t, as A[k,m] and B[n,k].
enum class Layout : int { nn = 0, nt = 1, tn = 2, tt = 3 };

inline constexpr std::array kAllLayouts{Layout::nn, Layout::nt, Layout::tn, Layout::tt};

constexpr bool transposes_a(Layout layout) { return layout == Layout::tn || layout == Layout::tt; }
constexpr bool transposes_b(Layout layout) { return layout == Layout::nt || layout == Layout::tt; }

/// The name in tables, databases and on the command line: "fp32", "nn".
std::string_view to_string(Precision precision);
std::string_view to_string(Layout layout);

/// The inverse of to_string; nothing for any other text.
std::optional<Precision> parse_precision(std::string_view text);
std::optional<Layout> parse_layout(std::string_view text);

}  // namespace mmtune
