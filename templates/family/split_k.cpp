#include "templates/family/split_k.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "templates/base/round_up.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {

std::optional<std::size_t> split_position(const Family& family) {
  const auto params = family.params();
  const auto split = std::find_if(params.begin(), params.end(), [](const auto& param) { return param.name == kSplit; });
  if (split == params.end()) return std::nullopt;
  return static_cast<std::size_t>(split - params.begin());
}

void split_rule(Rules& rules, int split, std::int64_t tiles, std::int64_t wave) {
  const std::int64_t blocks = tiles * split;
  rules.worth(std::has_single_bit(static_cast<unsigned>(split)) || 10 * blocks >= 9 * round_up(blocks, wave),
              "SPLIT is a power of two, or fills waves with blocks");
}

bool is_thin(const Problem& problem, const DeviceSpec& device) {
  return problem.k > kLongSums && 2 * tiles_of_c(problem, 128, 128) <= device.sm_count;
}

void long_part_rule(Rules& rules, const Problem& problem, int split, int most_parts, const DeviceSpec& device) {
  constexpr std::int64_t kLongestPart = 4096;
  rules.worth(!is_thin(problem, device) || split == most_parts || split * kLongestPart >= problem.k,
              "long sums of few results are parts of 4096 steps at most");
}

Arg add_partial_sums(LaunchPlan& plan, const Problem& problem, int parts) {
  const std::int64_t sums = parts > 1 ? parts * problem.m * problem.n : 0;
  return plan.workspace.add("partial sums", sums * traits(problem.precision).accumulator.bytes).as("partial");
}

Arg k_tiles_of_part(const Problem& problem, int parts, int bk) {
  return Arg::number(steps_of_part(problem, parts, bk) / bk).as("k_tiles");
}

Extent3 grid_of(std::int64_t blocks, int parts) {
  if (parts == 1) return {.x = blocks};
  return {.x = parts, .y = static_cast<int>(std::min<std::int64_t>(blocks / parts, std::numeric_limits<int>::max()))};
}

void add_reduce_step(LaunchPlan& plan, const Problem& problem, Arg partial, int parts) {
  if (parts == 1) return;
  plan.constants.push_back({kSplit, kAtLaunch});
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
               partial,
               Arg::number(parts).as("parts")};
  plan.steps.push_back(std::move(step));
}

SharedSums add_shared_sums(LaunchPlan& plan, std::int64_t blocks, std::int64_t bytes_of_block) {
  constexpr std::int64_t kFlagBytes = 4;
  return {.tiles = plan.workspace.add("sums of blocks", blocks * bytes_of_block).as("sums"),
          .flags = plan.workspace.add("flags", blocks * kFlagBytes).as("flags"),
          .kept_bytes = blocks * (bytes_of_block + kFlagBytes)};
}

LaunchStep prepare_step(Arg flags) {
  LaunchStep step;
  step.kernel = "prepare";
  step.block.x = kPrepareThreads;
  step.args = {flags};
  return step;
}

}  // namespace mmtune
