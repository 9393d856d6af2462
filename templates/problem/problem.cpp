#include "templates/problem/problem.h"

#include <fmt/format.h>

#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

StoredShape stored(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? StoredShape{columns, rows} : StoredShape{rows, columns};
}

// The largest power of two, at most 16, that divides the bytes of all three.
int operand_alignment(std::uintptr_t address, std::int64_t ld, std::int64_t contiguous, int element_bytes) {
  const auto bytes = static_cast<std::uint64_t>(ld | contiguous) * static_cast<std::uint64_t>(element_bytes);
  const std::uint64_t bits = address | bytes | 16;
  return static_cast<int>(bits & (~bits + 1));  // the lowest set bit
}

}  // namespace

bool can_exist(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
  return columns == 0 || rows <= kMostElements / columns;
}

std::string_view Problem::contradiction() const {
  return can_exist(m, n) && can_exist(m, k) && can_exist(k, n) ? "" : "m, n, k: a matrix is too large";
}

StoredShape stored_a(const Problem& problem) { return stored(problem.m, problem.k, transposes_a(problem.layout)); }

StoredShape stored_b(const Problem& problem) { return stored(problem.k, problem.n, transposes_b(problem.layout)); }

StoredShape stored_c(const Problem& problem) { return {problem.m, problem.n}; }

LeadingDimensions packed_leading_dimensions(const Problem& problem) {
  return {stored_a(problem).columns, stored_b(problem).columns, stored_c(problem).columns};
}

Alignment alignment_of(const Problem& problem, const LeadingDimensions& ld, const Addresses& addresses) {
  const PrecisionTraits& types = traits(problem.precision);
  return {operand_alignment(addresses.a, ld.a, stored_a(problem).columns, types.a.bytes),
          operand_alignment(addresses.b, ld.b, stored_b(problem).columns, types.b.bytes),
          operand_alignment(addresses.c, ld.c, stored_c(problem).columns, types.c.bytes)};
}

Problem packed_problem(Precision precision, Layout layout, std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem{precision, layout, m, n, k, {}};
  problem.align = alignment_of(problem, packed_leading_dimensions(problem), {256, 256, 256});
  return problem;
}

double flops(const Problem& problem) {
  return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
}

double minimal_bytes(const Problem& problem) {
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  const PrecisionTraits& types = traits(problem.precision);
  return m * k * types.a.bytes + k * n * types.b.bytes + m * n * types.c.bytes;
}

double tflops(const Problem& problem, double time_us) { return flops(problem) / time_us * 1e-6; }

std::string to_string(const Problem& problem) {
  std::string text = fmt::format("{} {} {}x{}x{}", to_string(problem.precision), to_string(problem.layout), problem.m,
                                 problem.n, problem.k);
  const Alignment& align = problem.align;
  if (align != Alignment{}) text += fmt::format(" a{}b{}c{}", align.a, align.b, align.c);
  if (problem.invariant) text += " invariant";
  return text;
}

}  // namespace mmtune
