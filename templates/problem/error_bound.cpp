#include "templates/problem/error_bound.h"

#include <algorithm>
#include <cmath>

#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

constexpr double kReferenceRoundoff = 0x1p-53;  // the verifier's sums are doubles

double growth(std::int64_t additions) { return 8 * std::sqrt(static_cast<double>(additions)); }

}  // namespace

ErrorBound error_bound(const PrecisionTraits& types, std::int64_t k) {
  if (types.accumulator.integer) return {};
  const Arithmetic& does = types.arithmetic;
  const double u = types.accumulator.roundoff;
  const std::int64_t steps = std::max<std::int64_t>(1, k);
  const std::int64_t run = does.promotion_steps > 0 ? std::min<std::int64_t>(steps, does.promotion_steps) : steps;
  double sum = does.factor_roundoff * (2 + does.factor_roundoff);
  sum += growth(ceil_div(run, does.sum_steps)) * does.sum_roundoff;
  if (does.promotion_steps > 0) sum += growth(ceil_div(steps, does.promotion_steps)) * u;
  if (u <= kReferenceRoundoff) sum += growth(steps) * kReferenceRoundoff;
  return {.sum = sum, .result = types.c.roundoff, .scale = 4 * u, .absolute = types.c.smallest / 2};
}

}  // namespace mmtune
