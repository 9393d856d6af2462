// fp32 products on Hopper's fp16 tensor cores; see kernel.cu for the picture.
#include <algorithm>

#include "templates/families/wgmma_fp16x3/proven.h"
#include "templates/family/families.h"
#include "templates/family/split_k.h"
#include "templates/model/numbers.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

struct WgmmaFp16x3 {
  struct Params {
    Param bm{128}, bn{128}, bk{32}, consumers{2}, promote{32}, cluster_m{1}, cluster_n{1}, group{8}, split{1};
  };

  static constexpr std::string_view kName = "wgmma_fp16x3";
  static constexpr std::string_view kSummary =
      "fp32 on Hopper's fp16 tensor cores: two planes of fp16 for each operand, three products, sums promoted to fp32";

  static constexpr int kPlanes = 2;       ///< the planes of an operand
  static constexpr int kProducts = 3;     ///< the products of planes
  static constexpr int kPlaneBytes = 2;   ///< the bytes of an element of a plane
  static constexpr int kLine = 128;       ///< the bytes of C stored at once; rows of planes are multiples of it
  static constexpr int kFragment = 64;    ///< the rows of an instruction
  static constexpr int kWarpgroup = 128;  ///< the number of threads
  static constexpr int kLeastStages = 2;
  static constexpr int kLongSums = 1024;  ///< the steps along k: docs/accuracy.md
  static constexpr int kMostStages = 12;
  static constexpr int kPartSteps = 256;              ///< the least steps along k that are worth a part
  static constexpr std::int64_t kLongestPart = 4096;  ///< the most steps along k of a part of few results
  static constexpr int kMostParts = 16;
  static constexpr int kMostSums = 192;  ///< the registers of sums that leave enough for everything else
  static constexpr int kWarpRows = 16;   ///< the rows of a fragment that a warp has and stores
  static constexpr int kSplitThreads = 256;
  static constexpr int kSplitBytes = 69024;  ///< the size of struct SplitShared in fp16x3_planes.cuh
  static constexpr int kSplitCluster = 8;    ///< the blocks that share rows whose elements lie apart
  static constexpr int kStripeAlongK = 8;    ///< the rows that a block splits
  static constexpr int kStripeBytes = 8;     ///< the size of struct Stripe
  static constexpr int kStrictThreads = 128;
  static constexpr int kStrictTile = 128;  ///< the rows and columns of a tile of the step strict
  static constexpr int kStrictBlocks = 2;  ///< the blocks of a multiprocessor
  /// The size of struct StrictShared in strict_product.cuh: two tiles of 16 steps of both operands, and sums.
  static constexpr int kStrictBytes = 4 * (2 * 2 * 16 * (kStrictTile + 4) + kStrictTile * kStrictTile);

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM", &Params::bm, {64, 128, 192, 256}, "rows of C per tile"},
        {"BN", &Params::bn, {64, 96, 128, 160, 192}, "columns of C per tile"},
        {"BK", &Params::bk, {32, 64}, "steps along k per stage"},
        {"CONSUMERS", &Params::consumers, {1, 2, 3}, "warpgroups that multiply"},
        {"PROMOTE", &Params::promote, {32, 64}, "steps along k whose sum tensor cores add up"},
        {"CLUSTER_M", &Params::cluster_m, {1, 2}, "blocks along m that share tiles of B"},
        {"CLUSTER_N", &Params::cluster_n, {1, 2}, "blocks along n that share tiles of A"},
        {"GROUP", &Params::group, {1, 4, 8, 16}, "rows of tiles walked together, for reuse in L2"},
        {"SPLIT", &Params::split, {1, 2, 4, 8, 16}, "parts of k, whose sums a further step adds"},
    };
    return rows;
  }

  static int consumer_rows(const Params& p) { return p.bm / p.consumers; }
  static int sums(const Params& p) { return consumer_rows(p) * p.bn / kWarpgroup; }
  static int chunk_sums(const Params& p) { return kFragment * p.bn / kWarpgroup; }
  static int threads(const Params& p) { return (p.consumers + 1) * kWarpgroup; }
  static int cluster(const Params& p) { return p.cluster_m * p.cluster_n; }
  static int stage_bytes(const Params& p) { return kPlanes * (p.bm + p.bn) * p.bk * kPlaneBytes; }

  /// Bytes of struct Shared in fp16x3_tile.cuh: the stages, two columns of lines of every consumer, two barriers a
  /// stage, and three numbers of every warp.
  static int shared_bytes(const Params& p, int stages) {
    constexpr int kAlignment = 1024;
    const int store_bytes = p.consumers * 2 * consumer_rows(p) * kLine;
    const int bytes = stages * (stage_bytes(p) + 16) + store_bytes + 3 * 4 * threads(p) / 32;
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// The number of stages, as many as fit: one block has the whole SM.
  static int stages(const Params& p, const DeviceSpec& device) {
    int stages = kMostStages;
    while (stages > 0 && shared_bytes(p, stages) > device.smem_per_block_optin) --stages;
    return stages;
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(compute_capability(device) == 90, "wgmma needs compute capability 9.0");
    rules.must(problem.precision == Precision::fp32_emulated, "emulates fp32 alone");
    rules.must(std::max({problem.m, problem.n, problem.k}) < (std::int64_t{1} << 30) - 1024,
               "coordinates of the accelerator have 32 bits");
    rules.must(p.bm % (kFragment * p.consumers) == 0, "a consumer has whole fragments");
    rules.must(p.bk % p.promote == 0, "a stage is whole chunks");
    rules.must(p.promote == 32 || problem.k >= kLongSums,
               "sums of 64 steps are as precise as fp32's for k of 1024 or more");
    if (!rules.ok()) return;
    rules.must(sums(p) + chunk_sums(p) <= (p.consumers == 3 ? 128 : kMostSums), "a thread has registers for its sums");
    rules.must(p.bm % (8 * p.cluster_n) == 0 && p.bn % (8 * p.cluster_m) == 0, "blocks share groups of eight lines");
    rules.must(stages(p, device) >= kLeastStages, "shared memory holds two stages");
    rules.worth(p.bm <= kFragment || problem.m > p.bm / 2, "a tile is not twice as high as C");
    rules.worth(p.bn <= kFragment || problem.n > p.bn / 2, "a tile is not twice as wide as C");
    rules.worth(p.cluster_m == 1 || problem.m > p.bm, "clusters have a tile for every block");
    rules.worth(p.cluster_n == 1 || problem.n > p.bn, "clusters have a tile for every block");
    rules.worth(p.group == 1 || ceil_div(problem.m, p.bm * p.cluster_m) > p.group / 2,
                "GROUP is at most the rows of tiles");
    const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
    rules.worth(p.split == 1 || tiles * (p.split / 2) < device.sm_count, "SPLIT is for few tiles");
    rules.worth(p.split == 1 || problem.k >= kPartSteps * p.split, "parts have some hundred steps");
    split_rule(rules, p.split, tiles, device.sm_count);
    // Others divide the long sums of few results as well, and round less for it.
    const bool is_thin = problem.k > kLongSums && 2 * tiles_of_c(problem, 128, 128) <= device.sm_count;
    rules.worth(!is_thin || p.promote == 32, "long sums of few results are promoted every 32 steps");
    rules.worth(!is_thin || p.split == kMostParts || p.split * kLongestPart >= problem.k,
                "long sums of few results are parts of 4096 steps at most");
  }

  /// An operand's planes, inverse scales and stripes.
  struct Planes {
    Arg planes, inverse;
    std::int64_t rows, stripes;
    int stripe_blocks;  ///< the blocks of the step split that share a stripe
  };

  /// Elements of an operand that its alignment lets one instruction read.
  static int vector(int align_bytes) { return std::max(1, align_bytes / 4); }

  static std::int64_t planes_ld(const Problem& problem) {
    constexpr int kElements = kLine / kPlaneBytes;
    return ceil_div(std::max<std::int64_t>(1, problem.k), kElements) * kElements;
  }

  static Planes add_planes(LaunchPlan& plan, const Problem& problem, bool is_a) {
    const std::int64_t rows = is_a ? problem.m : problem.n;
    const bool along_k = is_a ? !transposes_a(problem.layout) : transposes_b(problem.layout);
    const int stripe_across_k = vector(is_a ? problem.align.a : problem.align.b) == 1 ? 16 : 32;
    return {plan.workspace.add(is_a ? "planes of A" : "planes of B", kPlanes * rows * planes_ld(problem) * kPlaneBytes),
            plan.workspace.add(is_a ? "inverse scales of A" : "inverse scales of B", rows * 4), rows,
            ceil_div(rows, along_k ? kStripeAlongK : stripe_across_k), along_k ? 1 : kSplitCluster};
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchPlan plan;
    plan.constants = {{"STAGES", stages(p, device)},
                      {"SWAP", 0},
                      {"VA", vector(problem.align.a)},
                      {"VB", vector(problem.align.b)},
                      {"STORE_BOXES", stores_boxes(problem)},
                      // These are a thread's registers; together they are what the block begins with.
                      {"PRODUCER_REGISTERS", p.consumers == 3 ? 32 : 40},
                      {"CONSUMER_REGISTERS", p.consumers == 3 ? 160 : 232},
                      {"SPLIT_THREADS", kSplitThreads},
                      {"SPLIT_SMEM_BYTES", kSplitBytes},
                      {"STRICT_THREADS", kStrictThreads},
                      {"STRICT_SMEM_BYTES", kStrictBytes},
                      {"REDUCE_THREADS", kReduceThreads}};
    plan.needs = problem.align;
    const Planes a = add_planes(plan, problem, true);
    const Planes b = add_planes(plan, problem, false);
    const Arg stripes = plan.workspace.add("stripes", (a.stripes + b.stripes) * kStripeBytes);
    const Arg is_unfit = plan.workspace.add("whether planes are unfit", 4);
    const Arg partial = add_partial_sums(plan, problem, p.split);
    plan.steps = {split_step(problem, a, b, stripes),
                  gemm_step(plan, problem, p, device, a, b, stripes, is_unfit, partial),
                  strict_step(problem, device, is_unfit)};
    add_reduce_step(plan, problem, partial, p.split);
    if (p.split > 1) {
      std::vector<Arg>& args = plan.steps.back().args;
      args.insert(args.end() - 1, is_unfit.as("is_unfit"));
    }
    overlap_steps(plan, device);
    plan.may_spill = false;
    plan.work = estimate(problem, p, device);
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

  static LaunchStep gemm_step(LaunchPlan& plan, const Problem& problem, const Params& p, const DeviceSpec& device,
                              const Planes& a, const Planes& b, Arg stripes, Arg is_unfit, Arg partial) {
    const std::int64_t turns =
        ceil_div(ceil_div(problem.m, p.bm), p.cluster_m) * ceil_div(ceil_div(problem.n, p.bn), p.cluster_n) * p.split;
    LaunchStep gemm;
    gemm.grid.x = cluster(p) * std::clamp<std::int64_t>(turns, 1, std::max(1, device.sm_count / cluster(p)));
    gemm.block.x = threads(p);
    gemm.cluster.x = cluster(p);
    gemm.takes_turns = true;
    gemm.smem_bytes = shared_bytes(p, stages(p, device));
    const Arg map_a = add_map(plan, "A", problem, p, a, p.bm / p.cluster_n);
    const Arg map_b = add_map(plan, "B", problem, p, b, p.bn / p.cluster_m);
    gemm.args = {Arg::extent(Extent::m),
                 Arg::extent(Extent::n),
                 Arg::extent(Extent::k),
                 Arg::scalar(Scalar::alpha),
                 Arg::scalar(Scalar::beta),
                 Arg::operand(Operand::c),
                 Arg::ld(Operand::c),
                 map_a.as("map_a"),
                 map_b.as("map_b"),
                 map_c(plan, problem, map_a).as("map_c"),
                 a.inverse.as("inverse_a"),
                 b.inverse.as("inverse_b"),
                 stripes.as("stripes"),
                 Arg::number(a.stripes).as("stripes_a"),
                 Arg::number(b.stripes).as("stripes_b"),
                 is_unfit.as("is_unfit"),
                 partial,
                 Arg::number(p.split).as("parts"),
                 k_tiles_of_part(problem, p.split, p.bk)};
    return gemm;
  }

  /// Both planes, one below the other; k ends where the operand's does, so that what lies behind arrives as zeros.
  static Arg add_map(LaunchPlan& plan, std::string_view name, const Problem& problem, const Params& p, const Planes& of,
                     int box_rows) {
    return plan.add_map(
        {.name = name,
         .base = of.planes,
         .format = MapFormat::bits16,
         .dimensions = {{problem.k, p.bk}, {kPlanes * of.rows, box_rows, {.bytes = planes_ld(problem) * kPlaneBytes}}},
         .swizzle_bytes = p.bk * kPlaneBytes,
         .l2_promotion_bytes = kLine});
  }

  static bool stores_boxes(const Problem& problem) { return problem.align.c == 16; }

  /// Where C cannot be stored through a map, the kernel gets another and does not look at it.
  static Arg map_c(LaunchPlan& plan, const Problem& problem, Arg other) {
    if (!stores_boxes(problem)) return other;
    return plan.add_map({.name = "C",
                         .base = Arg::operand(Operand::c),
                         .format = MapFormat::bits32,
                         .dimensions = {{problem.n, kLine / 4}, {problem.m, kWarpRows, {.rows = 1}}},
                         .swizzle_bytes = kLine});
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

  static WorkEstimate estimate(const Problem&, const Params& p, const DeviceSpec& device) {
    const ModelNumbers& numbers = model_numbers(device);
    WorkEstimate work;
    work.unit = Unit::tensor_fp16;
    work.unit_products = kProducts;
    work.issue_slots_per_fma = numbers.wgmma_issue_slots;
    const double element = kPlanes * kPlaneBytes;
    work.bytes_per_k = element * (static_cast<double>(p.bm) / p.cluster_n + static_cast<double>(p.bn) / p.cluster_m);
    // Three instructions read their rows and columns, which the accelerator has written.
    work.smem_bytes_per_fma =
        kProducts * kPlaneBytes * (1.0 / p.bn + 1.0 / kFragment) + element * (1.0 / p.bn + 1.0 / p.bm);
    work.persistent = true;
    work.tile_m = p.bm;
    work.tile_n = p.bn;
    work.tile_k = p.bk;
    work.k_lanes = p.bk;  // The sums wait for no instruction of the same stage.
    work.fetch = Fetch::accelerator;
    work.copies_first = true;
    work.cluster_m = p.cluster_m;
    work.cluster_n = p.cluster_n;
    const int allowed = device.max_registers_per_block / threads(p) / 8 * 8;  // Several consumers use them all.
    const int needed = sums(p) + chunk_sums(p) + whole(numbers.wgmma_registers);
    work.registers = p.consumers == 1 ? std::min(device.max_registers_per_thread, needed) : allowed;
    work.split_k = p.split;
    work.bytes_in_flight = (stages(p, device) - 1) * stage_bytes(p);
    return work;
  }
};

}  // namespace

MMTUNE_FAMILY(wgmma_fp16x3, WgmmaFp16x3)

}  // namespace mmtune
