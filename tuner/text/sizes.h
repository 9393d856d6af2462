// The --sizes argument: which products to tune, in a short notation.
//
//   1024               C[1024,1024] = A[1024,1024] * B[1024,1024]
//   256..8192          powers of two, both ends included
//   1000..10000:1000   from, to, step
//   100..8100*3        from, to, factor
//   1024x512x64        m, n and k
//   @sizes.csv         a file: one of the forms above per line, or three columns m,n,k; a header line may name them;
//                      empty lines and those that begin with # are left out
//
// Any mix of these, separated by commas.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "templates/problem/problem.h"

namespace mmtune {

/// Extents of C[m,n] = op(A)[m,k] * op(B)[k,n].
struct Size {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  friend bool operator==(const Size&, const Size&) = default;
};

inline constexpr std::int64_t kMaxExtent = std::numeric_limits<std::int32_t>::max();
inline constexpr std::size_t kMaxSizes = 100'000;

/// Expands the notation in the order it is written, without repetitions. Throws UsageError naming the offending token
/// and the remedy: not a size, an extent outside 1..kMaxExtent, a range that is backwards or open, more than
/// kMaxSizes sizes (repetitions count), a file that cannot be read, does not end or has more than 16 MiB.
std::vector<Size> parse_sizes(std::string_view text);

inline Size size_of(const Problem& problem) { return {problem.m, problem.n, problem.k}; }

/// "1024x512x64".
std::string to_string(const Size& size);

/// What a problem is besides its size: "fp32 nn", "bf16 tn invariant".
std::string type_text(const Problem& problem);

}  // namespace mmtune
