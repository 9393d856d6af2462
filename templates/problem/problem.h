// One matrix product to be tuned or run: C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, row-major.
#pragma once

#include <mmtune/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "templates/base/fields.h"
#include "templates/base/rules.h"

namespace mmtune {

/// What operands can be aligned to, in bytes.
inline constexpr std::array kAlignments{1, 2, 4, 8, 16};

/// The alignment of each operand: the largest power of two, at most 16, that divides its address, its leading dimension
/// and its contiguous extent, all in bytes. A kernel that moves v bytes at once needs v here; the contiguous extent is
/// part of it so that no vector ever straddles the edge of a matrix.
struct Alignment {
  int a = 16;
  int b = 16;
  int c = 16;

  friend bool operator==(const Alignment&, const Alignment&) = default;

  static constexpr void fields(auto&& visit) {
    visit("align_a", &Alignment::a, rule::OneOf{kAlignments});
    visit("align_b", &Alignment::b, rule::OneOf{kAlignments});
    visit("align_c", &Alignment::c, rule::OneOf{kAlignments});
  }
};
static_assert(kListsAllMembers<Alignment>);

/// Whether operands aligned to `have` satisfy a kernel that needs `need`.
constexpr bool satisfies(const Alignment& have, const Alignment& need) {
  return have.a >= need.a && have.b >= need.b && have.c >= need.c;
}

/// A value type; everything that a kernel's choice depends on and nothing else.
struct Problem {
  Precision precision = kDefaultPrecision;
  Layout layout = Layout::nn;
  std::int64_t m = 0;  ///< rows of C and of op(A)
  std::int64_t n = 0;  ///< columns of C and of op(B)
  std::int64_t k = 0;  ///< columns of op(A), rows of op(B)
  Alignment align;
  /// Whether an element of C must have the same bits for every m and n, position, address, pitch and batch.
  bool invariant = false;

  friend bool operator==(const Problem&, const Problem&) = default;

  static constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;

  static constexpr void fields(auto&& visit) {
    visit("precision", &Problem::precision, rule::OneOf{kAllPrecisions});
    visit("layout", &Problem::layout, rule::OneOf{kAllLayouts});
    visit("m", &Problem::m, rule::Within{1, kMostExtent});
    visit("n", &Problem::n, rule::Within{1, kMostExtent});
    visit("k", &Problem::k, rule::Within{1, kMostExtent});
    visit("align", &Problem::align);
    visit("invariant", &Problem::invariant);
  }
  std::string_view contradiction() const;
};
static_assert(kListsAllMembers<Problem>);

/// Whether the bytes of a matrix fit an int64 with room, which no arithmetic on them overflows. Neither extent is
/// negative.
bool can_exist(std::int64_t rows, std::int64_t columns);

/// Leading dimensions in elements: the distance between two stored rows.
struct LeadingDimensions {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;

  friend bool operator==(const LeadingDimensions&, const LeadingDimensions&) = default;
};

/// Shape of one stored (not transposed) operand.
struct StoredShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< the contiguous extent
};

StoredShape stored_a(const Problem& problem);
StoredShape stored_b(const Problem& problem);
StoredShape stored_c(const Problem& problem);

/// Leading dimensions without padding.
LeadingDimensions packed_leading_dimensions(const Problem& problem);

/// Addresses as integers, so that this page needs no CUDA.
struct Addresses {
  std::uintptr_t a = 0;
  std::uintptr_t b = 0;
  std::uintptr_t c = 0;
};

/// The alignment that these operands really have; never below the element size for element-aligned addresses.
Alignment alignment_of(const Problem& problem, const LeadingDimensions& ld, const Addresses& addresses);

/// The problem with packed operands at 256-byte aligned addresses, which is what the tuner measures.
Problem packed_problem(Precision precision, Layout layout, std::int64_t m, std::int64_t n, std::int64_t k);

/// Multiply-adds counted as two operations: 2*m*n*k.
double flops(const Problem& problem);

/// The speed of the product in 10^12 operations a second, as flops() counts them.
double tflops(const Problem& problem, double time_us);

/// Bytes that must move through device memory at least: each input read once, C written once.
double minimal_bytes(const Problem& problem);

/// "fp32 nn 1024x1024x1024", with " a4b4c4" behind it where an operand is aligned to less than 16 bytes, and
/// " invariant" where that is asked for.
std::string to_string(const Problem& problem);

}  // namespace mmtune
