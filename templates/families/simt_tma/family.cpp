// The family for Hopper and later: CUDA cores fed by the tensor memory accelerator; see kernel.cu for the picture.
#include "templates/dtype.h"
#include "templates/families.h"

#include <algorithm>

namespace mmtune {
namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct SimtTma {
  struct Params {
    int bm = 64, bn = 64, bk = 16, tm = 8, tn = 4, lanes_n = 4, stages = 3, depth = 4, unroll = 8, order = 1, group = 8,
        min_blocks = 1, split = 1;
  };

  static constexpr std::string_view kName = "simt_tma";
  static constexpr std::string_view kSummary =
      "CUDA cores fed by the tensor memory accelerator (sm_90); split-K over a cluster's shared memory";

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM", &Params::bm, {32, 64, 96, 128, 192, 256}, "rows of C per block"},
        {"BN", &Params::bn, {32, 64, 96, 128, 192, 256}, "columns of C per block"},
        {"BK", &Params::bk, {16, 32}, "steps along k per stage"},
        {"TM", &Params::tm, {4, 8, 16}, "rows of C per thread"},
        {"TN", &Params::tn, {4, 8, 16}, "columns of C per thread"},
        {"LANES_N", &Params::lanes_n, {4, 8}, "threads of a warp along the columns"},
        {"STAGES", &Params::stages, {2, 3, 4}, "tiles of A and B in shared memory"},
        {"DEPTH", &Params::depth, {1, 2, 4}, "steps read at once from operands contiguous along k"},
        {"UNROLL", &Params::unroll, {4, 8, 16}, "steps along k per round of unrolled code"},
        {"ORDER", &Params::order, {0, 1, 2}, "multiply-adds of a thread: 0 by rows, 1 serpentine, 2 by columns"},
        {"GROUP", &Params::group, {1, 8}, "block rows walked together, for reuse in L2"},
        {"MIN_BLOCKS", &Params::min_blocks, {1, 2, 3, 4}, "blocks per SM that the registers must allow"},
        {"SPLIT", &Params::split, {1, 2, 4, 8}, "blocks of a cluster that share one tile's k"},
    };
    return rows;
  }

  static int threads(const Params& p) { return (p.bm / p.tm) * (p.bn / p.tn); }

  static int shared_bytes(const Params& p) {
    const int tiles = std::max(p.stages * (p.bm + p.bn) * p.bk * 4, p.split > 1 ? p.bm * p.bn * 4 : 0);
    const int barriers = p.stages * 16;
    return (tiles + barriers + 1023) / 1024 * 1024 + 1024;  // and room to align the base
  }

  static int steps(bool along_k, const Params& p) { return along_k ? p.depth : 1; }

  static int registers(const Problem& problem, const Params& p) {
    const int a = steps(!transposes_a(problem.layout), p) * p.tm;
    const int b = steps(transposes_b(problem.layout), p) * p.tn;
    return p.tm * p.tn + 2 * (a + b) + 28;
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const bool a_along_k = !transposes_a(problem.layout), b_along_k = transposes_b(problem.layout);
    rules.must(compute_capability(device) >= 90, "the tensor memory accelerator needs compute capability 9.0");
    rules.must(traits(problem.precision).element_bytes == 4, "elements have 4 bytes");
    rules.must(problem.align.a == 16 && problem.align.b == 16, "A and B are aligned to 16 bytes");
    rules.must(p.bm % (p.tm * (32 / p.lanes_n)) == 0, "a warp's rows divide BM");
    rules.must(p.bn % (p.tn * p.lanes_n) == 0, "a warp's columns divide BN");
    if (!rules.ok()) return;
    const int block = threads(p);
    rules.must(block >= 64 && block <= 512, "64 to 512 threads per block");
    rules.must(p.tm * p.tn >= 16 && p.tm * p.tn <= 128, "16 to 128 results per thread");
    rules.must((a_along_k || b_along_k) == (p.depth > 1), "DEPTH is 1 where no operand is contiguous along k, else more");
    rules.must(p.bk % p.unroll == 0 && p.unroll % (2 * p.depth) == 0, "UNROLL divides BK, and 2 * DEPTH divides UNROLL");
    const int need = registers(problem, p);
    rules.must(need <= 255, "expected registers fit a thread");
    rules.must(need * block * p.min_blocks <= device.max_registers_per_sm, "registers allow MIN_BLOCKS blocks per SM");
    rules.must(p.min_blocks == 4 || need * block * 2 * (p.min_blocks + 1) > device.max_registers_per_sm,
               "MIN_BLOCKS uses at least half of the registers");
    rules.must((shared_bytes(p) + device.smem_reserved_per_block) * p.min_blocks <= device.smem_per_sm,
               "shared memory allows MIN_BLOCKS blocks per SM");
    const std::int64_t tiles = ceil_div(problem.m, p.bm) * ceil_div(problem.n, p.bn);
    rules.must(p.split <= device.max_cluster_size, "SPLIT blocks fit a cluster");
    rules.must(p.split == 1 || tiles < 2 * device.sm_count, "SPLIT is for fewer tiles than two per SM");
    rules.must(p.split == 1 || ceil_div(problem.k, p.bk) >= p.split, "every block of a cluster has a tile of k");
    rules.must(p.group == 1 || ceil_div(problem.m, p.bm) > p.group / 4, "GROUP is below four times the rows of tiles");
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec&) {
    const int element = traits(problem.precision).element_bytes;
    const bool a_along_k = !transposes_a(problem.layout), b_along_k = transposes_b(problem.layout);
    LaunchPlan plan;
    plan.constants = {{"VC", std::max(1, problem.align.c / element)}};
    plan.needs = {16, 16, problem.align.c};
    plan.map_a = box(a_along_k, p.bm, p.bk);
    plan.map_b = box(b_along_k, p.bn, p.bk);

    LaunchStep gemm;
    gemm.grid.x = ceil_div(problem.m, p.bm) * ceil_div(problem.n, p.bn) * p.split;
    gemm.block.x = threads(p);
    gemm.cluster = p.split;
    gemm.smem_bytes = shared_bytes(p);
    gemm.args = {Arg::m, Arg::n, Arg::k, Arg::alpha, Arg::map_a, Arg::map_b, Arg::beta, Arg::c, Arg::ldc};
    plan.steps.push_back(gemm);
    plan.work = estimate(problem, p);
    return plan;
  }

  /// The box of one tile; along k its rows are swizzled over their whole length.
  static TensorMapSpec box(bool along_k, int extent, int bk) {
    return along_k ? TensorMapSpec{extent, bk, bk * 4} : TensorMapSpec{bk, extent, 0};
  }

  static WorkEstimate estimate(const Problem& problem, const Params& p) {
    const double fma_per_k = static_cast<double>(p.tm) * p.tn;
    const auto loads = [&](bool along_k, int extent) { return extent / (along_k ? p.depth : 4.0); };
    const double fragment_loads =
        loads(!transposes_a(problem.layout), p.tm) + loads(transposes_b(problem.layout), p.tn);
    WorkEstimate work;
    work.issue_slots_per_fma = 1 + (fragment_loads + 20.0 / p.bk) / fma_per_k;
    work.bytes_per_k = 4.0 * (p.bm + p.bn);
    work.smem_bytes_per_fma = 4.0 * (p.tm + p.tn) / fma_per_k;
    work.tile_m = p.bm;
    work.tile_n = p.bn;
    work.tile_k = p.bk;
    work.split_k = p.split;
    work.registers = registers(problem, p);
    work.bytes_in_flight = (p.stages - 1) * p.bk * (p.bm + p.bn) * 4;
    return work;
  }
};

}  // namespace

MMTUNE_FAMILY(simt_tma, SimtTma)

}  // namespace mmtune
