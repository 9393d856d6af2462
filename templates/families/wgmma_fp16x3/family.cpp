// fp32 products on Hopper's fp16 tensor cores; see kernel.cu for the picture.
#include "templates/families/wgmma_fp16x3/proven.h"
#include "templates/family/families.h"
#include "templates/family/planes.h"

namespace mmtune {
namespace {

struct WgmmaFp16x3 : PlaneFamily<2, 2> {
  static constexpr std::string_view kName = "wgmma_fp16x3";
  static constexpr std::string_view kSummary =
      "fp32 on Hopper's fp16 tensor cores: two planes of fp16 for each operand, three products, sums promoted to fp32";

  static constexpr int kPlanes = 2;  ///< the planes of an operand
  static constexpr int kSplitThreads = 256;
  static constexpr int kSplitBytes = 69024;  ///< the size of struct SplitShared in fp16x3_split.cuh
  static constexpr int kSplitCluster = 8;    ///< the blocks that share rows whose elements lie apart
  static constexpr int kStripeAlongK = 8;    ///< the rows that a block splits
  static constexpr int kStripeBytes = 8;     ///< the size of struct Stripe
  static constexpr int kStrictThreads = 128;
  static constexpr int kStrictTile = 128;  ///< the rows and columns of a tile of the step strict
  static constexpr int kStrictBlocks = 2;  ///< the blocks of a multiprocessor
  /// The size of struct StrictShared in strict_product.cuh: two tiles of 16 steps of both operands, and sums.
  static constexpr int kStrictBytes = 4 * (2 * 2 * 16 * (kStrictTile + 4) + kStrictTile * kStrictTile);

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(compute_capability(device) == 90, "wgmma needs compute capability 9.0");
    rules.must(problem.precision == Precision::fp32_emulated, "emulates fp32 alone");
    plane_rules(problem, p, device, rules);
  }

  /// An operand's planes, inverse scales and stripes.
  struct Planes {
    Arg planes, inverse;
    std::int64_t rows, stripes;
    int stripe_blocks;  ///< the blocks of the step split that share a stripe
  };

  /// Elements of an operand that its alignment lets one instruction read.
  static int vector(int align_bytes) { return std::max(1, align_bytes / 4); }

  static Planes add_planes(LaunchPlan& plan, const Problem& problem, bool is_a) {
    const std::int64_t rows = is_a ? problem.m : problem.n;
    const bool along_k = is_a ? !transposes_a(problem.layout) : transposes_b(problem.layout);
    const int stripe_across_k = vector(is_a ? problem.align.a : problem.align.b) == 1 ? 16 : 32;
    return {plan.workspace.add(is_a ? "planes of A" : "planes of B", kPlanes * plane_bytes(problem, rows)),
            plan.workspace.add(is_a ? "inverse scales of A" : "inverse scales of B", rows * 4), rows,
            ceil_div(rows, along_k ? kStripeAlongK : stripe_across_k), along_k ? 1 : kSplitCluster};
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchPlan plan;
    plan.constants = constants(problem, p, device);
    plan.constants.insert(plan.constants.end(), {{"SWAP", 0},
                                                 {"VA", vector(problem.align.a)},
                                                 {"VB", vector(problem.align.b)},
                                                 {"SPLIT_THREADS", kSplitThreads},
                                                 {"SPLIT_SMEM_BYTES", kSplitBytes},
                                                 {"STRICT_THREADS", kStrictThreads},
                                                 {"STRICT_SMEM_BYTES", kStrictBytes}});
    plan.needs = problem.align;
    const Planes a = add_planes(plan, problem, true);
    const Planes b = add_planes(plan, problem, false);
    const Arg stripes = plan.workspace.add("stripes", (a.stripes + b.stripes) * kStripeBytes);
    const Arg is_unfit = plan.workspace.add("whether planes are unfit", 4);
    const Arg partial = add_partial_sums(plan, problem, p.split);
    const std::vector<Arg> of_family = {a.inverse.as("inverse_a"),
                                        b.inverse.as("inverse_b"),
                                        stripes.as("stripes"),
                                        Arg::number(a.stripes).as("stripes_a"),
                                        Arg::number(b.stripes).as("stripes_b"),
                                        is_unfit.as("is_unfit")};
    const Arg map_a = add_map(plan, "A", problem, p, a, p.bm / p.cluster_n);
    const Arg map_b = add_map(plan, "B", problem, p, b, p.bn / p.cluster_m);
    plan.steps = {split_step(problem, a, b, stripes),
                  gemm_step(plan, problem, p, device, map_a, map_b, of_family, partial),
                  strict_step(problem, device, is_unfit)};
    add_reduce_step(plan, problem, partial, p.split);
    if (p.split > 1) {
      std::vector<Arg>& args = plan.steps.back().args;
      args.insert(args.end() - 1, is_unfit.as("is_unfit"));
    }
    overlap_steps(plan, device);
    plan.may_spill = false;
    plan.work = estimate(p, device, Unit::tensor_fp16);
    return plan;
  }

  static LaunchStep split_step(const Problem& problem, const Planes& a, const Planes& b, Arg stripes) {
    LaunchStep split;
    split.kernel = "split";
    split.cluster.x = std::max(a.stripe_blocks, b.stripe_blocks);
    const std::int64_t blocks = a.stripes * a.stripe_blocks + b.stripes * b.stripe_blocks;
    split.grid.x = ceil_div(blocks, split.cluster.x) * split.cluster.x;
    split.block.x = kSplitThreads;
    split.smem_bytes = kSplitBytes;
    split.args = {Arg::extent(Extent::m),
                  Arg::extent(Extent::n),
                  Arg::extent(Extent::k),
                  Arg::operand(Operand::a),
                  Arg::ld(Operand::a),
                  Arg::operand(Operand::b),
                  Arg::ld(Operand::b),
                  a.planes.as("planes_a"),
                  b.planes.as("planes_b"),
                  Arg::number(planes_ld(problem)).as("planes_ld"),
                  a.inverse.as("inverse_a"),
                  b.inverse.as("inverse_b"),
                  stripes.as("stripes"),
                  Arg::number(a.stripes).as("stripes_a"),
                  Arg::number(b.stripes).as("stripes_b")};
    return split;
  }

  static Arg add_map(LaunchPlan& plan, std::string_view name, const Problem& problem, const Params& p, const Planes& of,
                     int box_rows) {
    return PlaneFamily::add_map(plan, name, problem, p, of.planes, kPlanes * of.rows,
                                {.bytes = planes_ld(problem) * kPartBytes}, box_rows);
  }

  static LaunchStep strict_step(const Problem& problem, const DeviceSpec& device, Arg is_unfit) {
    LaunchStep strict;
    strict.kernel = "strict";
    strict.grid.x = std::clamp<std::int64_t>(tiles_of_c(problem, kStrictTile, kStrictTile), 1,
                                             kStrictBlocks * std::max(1, device.sm_count));
    strict.block.x = kStrictThreads;
    strict.takes_turns = true;
    strict.smem_bytes = kStrictBytes;
    strict.args = {Arg::extent(Extent::m),     Arg::extent(Extent::n),   Arg::extent(Extent::k),
                   Arg::scalar(Scalar::alpha), Arg::operand(Operand::a), Arg::ld(Operand::a),
                   Arg::operand(Operand::b),   Arg::ld(Operand::b),      Arg::scalar(Scalar::beta),
                   Arg::operand(Operand::c),   Arg::ld(Operand::c),      is_unfit.as("is_unfit")};
    return strict;
  }

  static std::span<const Proven> proven() { return kProvenWgmmaFp16x3; }
};

}  // namespace

MMTUNE_FAMILY(wgmma_fp16x3, WgmmaFp16x3)

}  // namespace mmtune
