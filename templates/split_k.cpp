#include "templates/split_k.h"

#include <bit>

#include "templates/dtype.h"
#include "templates/tiling.h"

namespace mmtune {

bool is_worth_splitting(int split, std::int64_t blocks, std::int64_t wave) {
  return std::has_single_bit(static_cast<unsigned>(split)) || 10 * blocks >= 9 * ceil_div(blocks, wave) * wave;
}

Arg add_partial_sums(LaunchPlan& plan, const Problem& problem, int parts) {
  const std::int64_t sums = parts > 1 ? parts * problem.m * problem.n : 0;
  return plan.workspace.add("partial sums", sums * traits(problem.precision).accumulator.bytes);
}

LaunchStep reduce_step(const Problem& problem, Arg partial) {
  LaunchStep step;
  step.kernel = "reduce";
  step.grid.x = ceil_div(problem.m * problem.n, kReduceThreads);
  step.block.x = kReduceThreads;
  step.args = {Arg::extent(Extent::m),
               Arg::extent(Extent::n),
               Arg::scalar(Scalar::alpha),
               Arg::scalar(Scalar::beta),
               Arg::operand(Operand::c),
               Arg::ld(Operand::c),
               partial};
  return step;
}

}  // namespace mmtune
