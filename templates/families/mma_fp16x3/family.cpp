// fp32 products on fp16 tensor cores by instructions of a warp; see kernel.cu for the picture.
#include <algorithm>
#include <utility>

#include "templates/families/mma_fp16x3/proven.h"
#include "templates/family/family_of.h"
#include "templates/family/fp16x3.h"
#include "templates/family/min_blocks.h"
#include "templates/family/split_k.h"
#include "templates/model/numbers.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

struct MmaFp16x3 {
  struct Params {
    Param bm{32}, bn{64}, bk_bytes{64}, wm{32}, wn{32}, stages{3}, ahead{1}, min_blocks{1}, group{4}, split{1};
  };

  static constexpr std::string_view kName = "mma_fp16x3";
  static constexpr std::string_view kSummary =
      "fp32 on fp16 tensor cores by instructions of a warp: two planes of fp16 for each operand, three products, sums "
      "promoted to fp32";

  static constexpr int kPieceBytes = 32;  ///< the bytes along k that an instruction multiplies
  static constexpr int kPieceSteps = kPieceBytes / kPartBytes;
  static constexpr int kPieceRows = 16;  ///< the rows that an instruction multiplies
  static constexpr int kPieceColumns = 8;
  static constexpr int kProducts = 3;  ///< the products of planes
  static constexpr int kWarp = 32;     ///< the number of threads
  static constexpr int kMostParts = 8;
  static constexpr int kPartSteps = 256;  ///< the least steps along k that are worth a part

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM", &Params::bm, {32, 64, 128}, "rows of C per block"},
        {"BN", &Params::bn, {64, 128}, "columns of C per block"},
        {"BK_BYTES", &Params::bk_bytes, {32, 64, 128}, "bytes along k per stage, of each plane"},
        {"WM", &Params::wm, {32, 64}, "rows of C per warp"},
        {"WN", &Params::wn, {32, 64}, "columns of C per warp"},
        {"STAGES", &Params::stages, {2, 3, 5}, "stages in shared memory"},
        {"AHEAD", &Params::ahead, {0, 1}, "1: a warp reads the next step's operands while it multiplies one's"},
        {"MIN_BLOCKS", &Params::min_blocks, {1, 2, 4}, "blocks per SM that the registers must allow"},
        {"GROUP", &Params::group, {1, 4, 16}, "rows of tiles walked together, for reuse in L2"},
        {"SPLIT", &Params::split, {1, 2, 4, 8}, "parts of k, whose sums a further step adds"},
    };
    return rows;
  }

  static int threads(const Params& p) { return kWarp * (p.bm / p.wm) * (p.bn / p.wn); }
  static int bk(const Params& p) { return p.bk_bytes / kPartBytes; }
  static int stage_bytes(const Params& p) { return Fp16x3::kPlanes * (p.bm + p.bn) * p.bk_bytes; }
  /// The size of struct Shared in kernel.cu.
  static int shared_bytes(const Params& p) { return p.stages * stage_bytes(p); }

  /// Sums, pieces, and addresses and the like, as ptxas reports.
  static int registers(const Params& p, const DeviceSpec& device) {
    const int pieces = Fp16x3::kPlanes * 4 * (p.wm + p.wn) / kPieceRows;
    return p.wm * p.wn / kWarp + (p.ahead + 1) * pieces + whole(model_numbers(device).mma_registers);
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(problem.precision == Precision::fp32_emulated, "emulates fp32 alone");
    rules.must(compute_capability(device) >= 80 && fma_per_clock_per_sm(device, Unit::tensor_fp16) > 0,
               "the device has tensor cores for 16 steps of fp16");
    rules.must(std::max({problem.m, problem.n, problem.k}) < (std::int64_t{1} << 30) - 1024,
               "positions in an operand have 32 bits");
    rules.must(p.bm % p.wm == 0 && p.bn % p.wn == 0, "whole warps divide a tile");
    if (!rules.ok()) return;
    rules.must(threads(p) >= 64 && threads(p) <= 512, "2 to 16 warps per block");
    min_blocks_rules(rules, registers(p, device), threads(p), p.min_blocks, device);
    if (!rules.ok()) return;
    rules.worth(shared_memory_allows(p.min_blocks, shared_bytes(p), device),
                "shared memory allows MIN_BLOCKS blocks per SM");
    rules.worth(p.bm <= 32 || problem.m > p.bm / 2, "a tile is not twice as high as C");
    rules.worth(p.bn <= 64 || problem.n > p.bn / 2, "a tile is not twice as wide as C");
    rules.worth(p.group == 1 || ceil_div(problem.m, p.bm) > p.group / 2, "GROUP is at most the rows of tiles");
    const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
    const std::int64_t wave = resident_blocks(p.min_blocks, device);
    rules.worth(p.split == 1 || tiles * (p.split / 2) < wave, "SPLIT is for few tiles");
    rules.worth(p.split == 1 || problem.k >= kPartSteps * p.split, "parts have some hundred steps");
    split_rule(rules, p.split, tiles, wave);
    long_part_rule(rules, problem, p.split, kMostParts, device);
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchPlan plan;
    plan.constants = {{"PIECE_BYTES", kPieceBytes},
                      {"VC", std::max(1, problem.align.c / traits(problem.precision).c.bytes)},
                      {"PROMOTE", 0}};  // Sums of an instruction's steps are promoted before they are added.
    const Fp16x3 scheme(plan, problem, device, false);
    const Arg partial = add_partial_sums(plan, problem, p.split);
    LaunchStep gemm;
    gemm.grid = grid_of(tiles_of_c(problem, p.bm, p.bn) * p.split, p.split);
    gemm.block.x = threads(p);
    gemm.smem_bytes = shared_bytes(p);
    gemm.args = result_arguments();
    gemm.pass({scheme.a().planes, scheme.b().planes, Arg::number(planes_ld(problem)).as("planes_ld")});
    gemm.pass(scheme.scale_arguments());
    gemm.pass({partial, k_tiles_of_part(problem, p.split, bk(p))});
    scheme.add_steps(plan, std::move(gemm), partial, p.split);
    plan.work = estimate(p, device);
    return plan;
  }

  static std::span<const Proven> proven() { return proven_mma_fp16x3(); }

  static WorkEstimate estimate(const Params& p, const DeviceSpec& device) {
    constexpr double kBytes = Fp16x3::kPlanes * kPartBytes;  // the bytes of both planes of an element
    const ModelNumbers& numbers = model_numbers(device);
    const double pieces = static_cast<double>(p.wm) * p.wn / (kPieceRows * kPieceColumns);
    const double loads = Fp16x3::kPlanes * static_cast<double>(p.wm + p.wn) / kPieceRows;
    const double add_slots = kWarp * numbers.schedulers / fma_per_clock_per_sm(device, core_unit(Precision::fp32));
    const double additions = 4 * add_slots;  // of the four sums that a thread has of a piece
    WorkEstimate work;
    work.unit = Unit::tensor_fp16;
    work.unit_products = kProducts;
    work.by_warps = true;
    // What a thread issues for a step of pieces, by its multiply-adds of fp32: 4 of a piece for each element along k.
    work.issue_slots_per_fma =
        ((kProducts + additions) * pieces + numbers.mma_load_slots * loads + numbers.mma_piece_slots) /
        (pieces * 4 * kPieceSteps);
    work.bytes_per_k = kBytes * (p.bm + p.bn);
    work.smem_bytes_per_fma = kBytes * (static_cast<double>(p.wm + p.wn) / (p.wm * p.wn) +
                                        static_cast<double>(p.bm + p.bn) / (p.bm * p.bn));  // read and written
    work.fetch = Fetch::copies;
    work.copies_first = true;
    work.tile_m = p.bm;
    work.tile_n = p.bn;
    work.tile_k = bk(p);
    work.k_lanes = kPieceSteps;
    work.split_k = p.split;
    work.registers = registers(p, device);
    work.bytes_in_flight = (p.stages - 1) * stage_bytes(p);
    return work;
  }
};

}  // namespace

MMTUNE_FAMILY(mma_fp16x3, MmaFp16x3)

}  // namespace mmtune
