// How far a right result may lie from the exact one. The verifier judges by it, and docs/measuring.md explains it.
#pragma once

#include <cstdint>

#include "templates/problem/dtype.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// The factors of an element's error bound; all zero demands the correctly rounded result.
struct ErrorBound {
  double sum = 0;       ///< the factor of |alpha| * sum of |a*b|
  double result = 0;    ///< the factor of |expected|: the rounding to C's format
  double scale = 0;     ///< the factor of |alpha * sum| + |beta * c|
  double absolute = 0;  ///< the part that is added: what rounding costs below the normal numbers of C's format
};

/// The bound on |C - exact| of an element of a sum of k products, for operands that are random and symmetric about 0.
/// With u the unit roundoff of the accumulator's format, u_c that of C's, and the members of Arithmetic:
///
///   sum     2 factor_roundoff + factor_roundoff^2   both factors of every product, in the worst case
///           + f(additions) * sum_roundoff           f(n) = 8 sqrt(n); additions: k / sum_steps, or of one promotion
///           + f(promotions) * u                     with promotions: k / promotion_steps
///           + f(k) * 2^-53                          the reference rounds too: where sums are doubles
///   result  u_c;  scale  4 u;  absolute  half of the smallest number of C's format
///
/// f is the probabilistic form of the standard forward error bound (N. Higham, T. Mary: A new approach to probabilistic
/// rounding error analysis, SISC 41(5), 2019) with 8 standard deviations, which leaves no false alarms. It also holds
/// for truncation, whose errors have the sign of the sum, as the verifier's operands are uniform in [-1, 1]: then
/// |a*b| has mean 1/4, a*b variance 1/9, and a sum of k products stays below 6 sqrt(k) / 3 = 8 / sqrt(k) * (k / 4) but
/// for one chance in 10^9, so that n <= k additions err by n * sum_roundoff times that, at most f(n) * sum_roundoff.
/// All zero for integers, which are exact modulo 2^32.
ErrorBound error_bound(const PrecisionTraits& types, std::int64_t k);

inline ErrorBound error_bound(const Problem& problem) { return error_bound(traits(problem.precision), problem.k); }

}  // namespace mmtune
