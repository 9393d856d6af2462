// Products of bf16 and fp32 on Hopper's bf16 tensor cores; see kernel.cu for the picture.
#include "templates/families/wgmma_bf16x3/proven.h"
#include "templates/family/family_of.h"
#include "templates/family/planes.h"

namespace mmtune {
namespace {

struct WgmmaBf16x3 : PlaneFamily<1, 3> {
  static constexpr std::string_view kName = "wgmma_bf16x3";
  static constexpr std::string_view kSummary =
      "bf16 times fp32 on Hopper's bf16 tensor cores: three planes of bf16 for B, exact products, sums promoted to "
      "fp32";

  static constexpr int kPlanesOfB = 3;
  static constexpr int kBoxColumns = kLine / 4;  ///< the columns of a box of B along n
  static constexpr int kSplitThreads = 256;
  static constexpr int kSplitTile = 64;  ///< the rows and steps along k that a block splits
  static constexpr int kSplitBytes = kSplitTile * (kSplitTile + 1) * 4;  ///< a tile of fp32, spread over the banks

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = [] {
      ParamTable<Params> with_swap = PlaneFamily::table();
      with_swap.push_back(
          {"SWAP", &Params::swap, {0, 1}, "1: an instruction's rows are columns of B, split in registers"});
      return with_swap;
    }();
    return rows;
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(compute_capability(device) == 90, "wgmma needs compute capability 9.0");
    rules.must(problem.precision == Precision::bf16_x_fp32, "multiplies bf16 by fp32");
    if (p.swap == 1) {
      rules.must(!copies_a(problem) && problem.align.b == 16, "SWAP reads A along k and B as they are");
      rules.must(p.bk == 32, "SWAP splits lines of 32 numbers");
      rules.must(p.bn == kFragment * p.consumers, "SWAP has a fragment of columns for each consumer");
      rules.must(p.bm <= (p.consumers == 3 ? 64 : 128), "a thread has registers for its sums and parts of B");
    }
    plane_rules(problem, p, device, rules);
  }

  /// Whether the accelerator cannot read A along k as it is.
  static bool copies_a(const Problem& problem) { return transposes_a(problem.layout) || problem.align.a < 16; }

  /// Elements of an operand that its alignment lets one instruction read, four at most.
  static int vector(int align_bytes, int element_bytes) { return std::clamp(align_bytes / element_bytes, 1, 4); }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    LaunchPlan plan;
    plan.constants = constants(problem, p, device);
    plan.constants.insert(plan.constants.end(), {{"VA", vector(problem.align.a, types.a.bytes)},
                                                 {"VB", vector(problem.align.b, types.b.bytes)},
                                                 {"COPIES_A", copies_a(problem)},
                                                 {"SPLIT_THREADS", kSplitThreads},
                                                 {"SPLIT_SMEM_BYTES", kSplitBytes},
                                                 {"REDUCE_THREADS", kReduceThreads}});
    plan.needs = problem.align;
    const MapStride row = {.bytes = planes_ld(problem) * kPartBytes};
    const Arg copy = plan.workspace.add("copy of A", copies_a(problem) ? plane_bytes(problem, problem.m) : 0);
    const Arg planes =
        plan.workspace.add("planes of B", p.swap == 1 ? 0 : kPlanesOfB * plane_bytes(problem, problem.n));
    const Arg partial = add_partial_sums(plan, problem, p.split);
    const Arg map_a = add_map(plan, "A", problem, p, copies_a(problem) ? copy : Arg::operand(Operand::a), problem.m,
                              copies_a(problem) ? row : MapStride{.rows = 1}, p.bm / p.cluster_n);
    const Arg map_b = p.swap == 1
                          ? map_of_b(plan, problem, p)
                          : add_map(plan, "B", problem, p, planes, kPlanesOfB * problem.n, row, p.bn / p.cluster_m);
    const std::vector<Arg> operands = {Arg::operand(Operand::a), Arg::ld(Operand::a), Arg::operand(Operand::b),
                                       Arg::ld(Operand::b)};
    if (p.swap == 0) plan.steps.push_back(split_step(problem, copy, planes));
    plan.steps.push_back(gemm_step(plan, problem, p, device, map_a, map_b, operands, partial));
    add_reduce_step(plan, problem, partial, p.split);
    if (p.split > 1) {
      std::vector<Arg>& args = plan.steps.back().args;
      const auto of_sums = args.insert(args.end() - 2, Arg::extent(Extent::k));
      args.insert(of_sums + 1, operands.begin(), operands.end());
    }
    overlap_steps(plan, device);
    plan.may_spill = false;
    plan.work = estimate(p, device, Unit::tensor_bf16);
    return plan;
  }

  static std::span<const Proven> proven() { return proven_wgmma_bf16x3(); }

  /// SWAP = 1: B as it is, in boxes of a line's width along k or n.
  static Arg map_of_b(LaunchPlan& plan, const Problem& problem, const Params& p) {
    const MapStride row{.rows = 1};
    const auto dimensions =
        transposes_b(problem.layout)
            ? std::vector<MapDimension>{{problem.k, p.bk}, {problem.n, p.bn / p.cluster_m, row}}
            : std::vector<MapDimension>{{problem.n, kBoxColumns}, {problem.k, p.bk / p.cluster_m, row}};
    return plan.add_map({.name = "B",
                         .base = Arg::operand(Operand::b),
                         .format = MapFormat::bits32,
                         .dimensions = dimensions,
                         .swizzle_bytes = kLine});
  }

  static LaunchStep split_step(const Problem& problem, Arg copy, Arg planes) {
    const std::int64_t rows =
        ceil_div(problem.n, kSplitTile) + (copies_a(problem) ? ceil_div(problem.m, kSplitTile) : 0);
    LaunchStep split;
    split.kernel = "split";
    split.grid.x = std::max<std::int64_t>(1, rows * ceil_div(problem.k, kSplitTile));
    split.block.x = kSplitThreads;
    split.smem_bytes = kSplitBytes;
    split.args = operand_arguments();
    split.pass({copy.as("copy_a"), planes.as("planes_b"), Arg::number(planes_ld(problem)).as("planes_ld")});
    return split;
  }
};

}  // namespace

MMTUNE_FAMILY(wgmma_bf16x3, WgmmaBf16x3)

}  // namespace mmtune
