// What the families have in common that multiply two planes of fp16 of each operand, whichever instruction they take:
// the step that splits, the one that decides what multiplies and cares for operands that are not fit for fp16, and what
// lies in the workspace. See templates/device/fp16x3_planes.cuh and fp16x3_decide.cuh.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "templates/base/round_up.h"
#include "templates/family/plane_memory.h"
#include "templates/family/split_k.h"
#include "templates/gpu/device_spec.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {

class Fp16x3 {
 public:
  static constexpr int kPlanes = 2;      ///< the planes of fp16 of an operand
  static constexpr int kWidePlanes = 3;  ///< those of bf16, which take their place

  /// An operand's planes, inverse scales and stripes.
  struct Planes {
    Arg planes, inverse;
    std::int64_t rows, stripes;
    int stripe_blocks;  ///< the blocks of the step split that share a stripe
  };

  /// Adds what the steps have in the workspace, and the constants of those besides the one that multiplies. `is_wide`:
  /// that one multiplies planes of bf16, too.
  Fp16x3(LaunchPlan& plan, const Problem& problem, const DeviceSpec& device, bool is_wide)
      : problem_(problem),
        device_(device),
        planes_(is_wide ? kWidePlanes : kPlanes),
        a_(add_planes(plan, true)),
        b_(add_planes(plan, false)),
        stripes_(plan.workspace.add("stripes", (a_.stripes + b_.stripes) * kStripeBytes).as("stripes")),
        by_(plan.workspace.add("what multiplies", 4).as("by")) {
    plan.constants.insert(plan.constants.end(), {{"VA", vector(problem.align.a)},
                                                 {"VB", vector(problem.align.b)},
                                                 {"STRIPE_BLOCKS", sharers()},
                                                 {"SPLIT_THREADS", kSplitThreads},
                                                 {"SPLIT_SMEM_BYTES", split_bytes()},
                                                 {"WIDE", is_wide ? 1 : 0},
                                                 {"DECIDE_THREADS", kDecideThreads},
                                                 {"DECIDE_SMEM_BYTES", kDecideBytes},
                                                 {"REDUCE_THREADS", kReduceThreads}});
    plan.needs = problem.align;
  }

  const Planes& a() const { return a_; }
  const Planes& b() const { return b_; }

  /// What the step that multiplies gets to take scales out, and to know which planes there are.
  std::vector<Arg> scale_arguments() const { return {a_.inverse, b_.inverse, by_}; }

  /// Adds all steps around the one that multiplies.
  void add_steps(LaunchPlan& plan, LaunchStep gemm, Arg partial, int parts) const {
    plan.steps = {split_step(), decide_step(), std::move(gemm)};
    add_reduce_step(plan, problem_, partial, parts);
    if (parts > 1) {
      std::vector<Arg>& args = plan.steps.back().args;
      args.insert(args.end() - 1, by_);
    }
    overlap_steps(plan, device_);
  }

 private:
  static constexpr int kSplitThreads = 256;
  static constexpr int kSplitCluster = 8;  ///< the blocks that share rows whose elements lie apart
  static constexpr int kStripeAlongK = 8;  ///< the rows that a block splits
  static constexpr int kStripeBytes = 8;   ///< the size of struct Stripe
  static constexpr int kDecideThreads = 128;
  static constexpr int kStrictTile = 128;  ///< the rows and columns of a tile that is multiplied as it is
  static constexpr int kWideTile = 64;     ///< the rows, and steps along k, of one that is split for bf16
  static constexpr int kDecideBlocks = 2;  ///< the blocks of a multiprocessor
  /// The size of struct StrictShared in strict_product.cuh: two tiles of 16 steps of both operands, and sums.
  static constexpr int kStrictBytes = 4 * (2 * 2 * 16 * (kStrictTile + 4) + kStrictTile * kStrictTile);
  /// The size of struct DecideShared in fp16x3_decide.cuh: that, and three numbers of every warp.
  static constexpr int kDecideBytes = kStrictBytes + 3 * 4 * kDecideThreads / 32;

  /// Elements of an operand that its alignment lets one instruction read.
  static int vector(int align_bytes) { return std::max(1, align_bytes / 4); }

  int sharers() const { return std::clamp(device_.max_cluster_size, 1, kSplitCluster); }
  /// The size of struct SplitShared in fp16x3_split.cuh.
  int split_bytes() const { return 68000 + 128 * sharers(); }

  Planes add_planes(LaunchPlan& plan, bool is_a) const {
    const std::int64_t rows = is_a ? problem_.m : problem_.n;
    const bool along_k = is_a ? !transposes_a(problem_.layout) : transposes_b(problem_.layout);
    const int stripe_across_k = vector(is_a ? problem_.align.a : problem_.align.b) == 1 ? 16 : 32;
    return {plan.workspace.add(is_a ? "planes of A" : "planes of B", planes_ * plane_bytes(problem_, rows))
                .as(is_a ? "planes_a" : "planes_b"),
            plan.workspace.add(is_a ? "inverse scales of A" : "inverse scales of B", rows * 4)
                .as(is_a ? "inverse_a" : "inverse_b"),
            rows, ceil_div(rows, along_k ? kStripeAlongK : stripe_across_k), along_k ? 1 : sharers()};
  }

  LaunchStep split_step() const {
    LaunchStep split;
    split.kernel = "split";
    split.cluster.x = std::max(a_.stripe_blocks, b_.stripe_blocks);
    const std::int64_t blocks = a_.stripes * a_.stripe_blocks + b_.stripes * b_.stripe_blocks;
    split.grid.x = round_up(blocks, split.cluster.x);
    split.block.x = kSplitThreads;
    split.smem_bytes = split_bytes();
    split.args = operand_arguments();
    split.pass({a_.planes, b_.planes, Arg::number(planes_ld(problem_)).as("planes_ld"), a_.inverse, b_.inverse});
    split.pass({stripes_, Arg::number(a_.stripes).as("stripes_a"), Arg::number(b_.stripes).as("stripes_b")});
    return split;
  }

  LaunchStep decide_step() const {
    LaunchStep decide;
    decide.kernel = "decide";
    const std::int64_t wide_tiles =
        ceil_div(std::max(problem_.m, problem_.n), kWideTile) * ceil_div(problem_.k, kWideTile);
    decide.grid.x = std::clamp<std::int64_t>(std::max(tiles_of_c(problem_, kStrictTile, kStrictTile), wide_tiles), 1,
                                             kDecideBlocks * std::max(1, device_.sm_count));
    decide.block.x = kDecideThreads;
    decide.takes_turns = true;
    decide.smem_bytes = kDecideBytes;
    decide.args = blas_arguments();
    decide.pass({stripes_, Arg::number(a_.stripes).as("stripes_a"), Arg::number(b_.stripes).as("stripes_b")});
    decide.pass({a_.planes, b_.planes, Arg::number(planes_ld(problem_)).as("planes_ld"), by_});
    return decide;
  }

  const Problem& problem_;
  const DeviceSpec& device_;
  int planes_;  ///< the planes of an operand that the workspace has room for
  Planes a_, b_;
  Arg stripes_, by_;
};

}  // namespace mmtune
