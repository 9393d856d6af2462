// Tensor cores by instructions of a warp; see kernel.cu for the picture.
#include <algorithm>
#include <utility>

#include "templates/families/mma_sync/proven.h"
#include "templates/family/family_of.h"
#include "templates/family/min_blocks.h"
#include "templates/family/split_k.h"
#include "templates/model/numbers.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

struct MmaSync {
  struct Params {
    Param bm{64}, bn{64}, bk_bytes{64}, wm{32}, wn{32}, stages{3}, min_blocks{1}, group{8}, split{1}, pack{0},
        stream{0};
  };

  static constexpr std::string_view kName = "mma_sync";
  static constexpr std::string_view kSummary =
      "tensor cores by instructions of a warp: cp.async stages, ldmatrix, swizzled tiles; split-K, stream-K";

  static constexpr int kPieceRows = 16;  ///< the rows that an instruction multiplies
  static constexpr double kPieceColumns = 8;
  static constexpr int kPackThreads = 256;  ///< those of a block of pack()
  static constexpr int kUnitBytes = 16;     ///< what is copied at once of aligned operands, and of some others
  /// How often more than an aligned piece an unaligned one is read: by two loads for each of four words.
  static constexpr double kUnalignedReads = 8;

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM", &Params::bm, {32, 64, 128, 256}, "rows of C per block"},
        {"BN", &Params::bn, {32, 64, 128, 256}, "columns of C per block"},
        {"BK_BYTES", &Params::bk_bytes, {32, 64, 128, 256}, "bytes along k per stage"},
        {"WM", &Params::wm, {16, 32, 64}, "rows of C per warp"},
        {"WN", &Params::wn, {16, 32, 64, 128}, "columns of C per warp"},
        {"STAGES", &Params::stages, {2, 3, 4, 5, 6}, "stages in shared memory"},
        {"MIN_BLOCKS", &Params::min_blocks, {1, 2, 3, 4}, "blocks per SM that the registers must allow"},
        {"GROUP", &Params::group, {1, 4, 8, 16}, "rows of tiles walked together, for reuse in L2"},
        {"SPLIT", &Params::split, {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32}, "blocks that share one tile's k"},
        {"PACK", &Params::pack, {{0, "none"}, {1, "A"}, {2, "B"}}, "the operand that is first copied to aligned rows"},
        {"STREAM", &Params::stream, {0, 1}, "1: resident blocks take tiles in turn and share those of the last wave"},
    };
    return rows;
  }

  /// Tensor cores multiply neither fp32 nor 32-bit integers.
  static bool multiplies(Precision precision) {
    return precision != Precision::fp32 && precision != Precision::int32 && traits(precision).unit_products == 1;
  }

  static int threads(const Params& p) { return 32 * (p.bm / p.wm) * (p.bn / p.wn); }
  static int element_bytes(const Problem& problem) { return traits(problem.precision).a.bytes; }
  /// The bytes along k that an instruction multiplies. Of fp64 a Hopper's takes 32 or 64; the sums of a large tile of a
  /// warp leave registers for pieces of 32 alone.
  static int piece_bytes(const Problem& problem, const Params& p) {
    return element_bytes(problem) == 8 && p.wm * p.wn <= 1024 ? 64 : 32;
  }
  static int bk(const Problem& problem, const Params& p) { return p.bk_bytes / element_bytes(problem); }

  static bool packs_a(const Problem& problem, const Params& p) { return p.pack == 1 && problem.align.a < kUnitBytes; }
  static bool packs_b(const Problem& problem, const Params& p) { return p.pack == 2 && problem.align.b < kUnitBytes; }
  /// The alignment of what gemm() reads.
  static int align_a(const Problem& problem, const Params& p) {
    return packs_a(problem, p) ? kUnitBytes : problem.align.a;
  }
  static int align_b(const Problem& problem, const Params& p) {
    return packs_b(problem, p) ? kUnitBytes : problem.align.b;
  }

  /// Whether unaligned_tile.cuh copies an operand, and its words are read as two elements.
  static bool is_unaligned(const Problem& problem, int align_bytes, const DeviceSpec& device) {
    return compute_capability(device) >= 80 && element_bytes(problem) == 2 && align_bytes == 2;
  }
  static int shared_bytes(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const int depth = bk(problem, p);
    const int lines_a = transposes_a(problem.layout) ? depth : p.bm;
    const int lines_b = transposes_b(problem.layout) ? p.bn : depth;
    const int units = (is_unaligned(problem, align_a(problem, p), device) ? lines_a : 0) +
                      (is_unaligned(problem, align_b(problem, p), device) ? lines_b : 0);  // one a line more
    return p.stages * ((p.bm + p.bn) * p.bk_bytes + units * kUnitBytes);
  }

  /// Stages after which sums are promoted; 0: never.
  static int promotion_stages(const Problem& problem, const Params& p) {
    return traits(problem.precision).arithmetic.promotion_steps / bk(problem, p);
  }

  /// 32-bit registers of a thread's sums.
  static int sums(const Problem& problem, const Params& p) {
    const int sets = promotion_stages(problem, p) > 0 ? 2 : 1;
    return sets * p.wm * p.wn / 32 * accumulator_registers(problem);
  }

  /// Whether cp.async copies the operand; otherwise it passes through registers.
  static bool is_async(const Problem& problem, int align_bytes, const DeviceSpec& device) {
    return compute_capability(device) >= 80 && (align_bytes >= 4 || is_unaligned(problem, align_bytes, device));
  }

  /// Elements of operands that are copied by fewer than 16 bytes, for each multiply-add.
  static double narrow_elements(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const auto is_narrow = [&](int align) { return align < kUnitBytes && !is_unaligned(problem, align, device); };
    return (is_narrow(align_a(problem, p)) ? 1.0 / p.bn : 0) + (is_narrow(align_b(problem, p)) ? 1.0 / p.bm : 0);
  }

  /// What is read of lines, which touch a sector more where they are not aligned, by what they have.
  static double touched_share(const Problem& problem, int align_bytes, double line_bytes, const DeviceSpec& device) {
    constexpr double kSectorBytes = 32;
    return is_unaligned(problem, align_bytes, device) ? 1 + kSectorBytes / line_bytes : 1;
  }

  /// Sums, two steps' pieces, units that pass through registers, and addresses and the like, as ptxas reports.
  static int registers(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const int staged = (is_async(problem, align_a(problem, p), device) ? 0 : p.bm) +
                       (is_async(problem, align_b(problem, p), device) ? 0 : p.bn);
    return sums(problem, p) + 2 * (piece_bytes(problem, p) / 8) * (p.wm + p.wn) / kPieceRows +
           staged * p.bk_bytes / 4 / threads(p) + whole(model_numbers(device).mma_registers);
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const PrecisionTraits& types = traits(problem.precision);
    rules.must(multiplies(problem.precision), "tensor cores multiply neither fp32 nor int32");
    rules.must(compute_capability(device) >= 75 && fma_per_clock_per_sm(device, types.unit) > 0,
               "the device has tensor cores for the precision");
    rules.must(p.bm % p.wm == 0 && p.bn % p.wn == 0, "whole warps divide a tile");
    if (!rules.ok()) return;
    rules.must(p.bk_bytes >= piece_bytes(problem, p), "a stage is whole instructions along k");
    rules.must(threads(p) >= 64 && threads(p) <= 512, "2 to 16 warps per block");
    rules.must(sums(problem, p) <= 128, "at most 128 registers of sums per thread");
    min_blocks_rules(rules, registers(problem, p, device), threads(p), p.min_blocks, device);
    if (!rules.ok()) return;
    rules.must(p.pack == 0 || packs_a(problem, p) || packs_b(problem, p), "PACK copies an operand that is not aligned");
    const std::int64_t packed = p.pack == 1 ? problem.m : problem.n, other = p.pack == 1 ? problem.n : problem.m;
    rules.worth(p.pack == 0 || 4 * packed <= other, "PACK copies the smaller operand");
    rules.worth(p.pack == 0 || is_unaligned(problem, p.pack == 1 ? problem.align.b : problem.align.a, device),
                "PACK is for an operand beside one that is read by words");
    rules.must(p.stream == 0 || p.split == 1, "STREAM shares tiles itself and needs no SPLIT");
    rules.must(p.stream == 0 || shared_memory_allows(p.min_blocks, shared_bytes(problem, p, device), device),
               "STREAM needs MIN_BLOCKS blocks per SM at once");
    rules.worth(shared_memory_allows(p.min_blocks, shared_bytes(problem, p, device), device),
                "shared memory allows MIN_BLOCKS blocks per SM");
    rules.worth(p.bk_bytes <= 128 || element_bytes(problem) == 8, "stages of 32 elements are deep enough");
    rules.worth(p.bm <= 32 || problem.m > p.bm / 2, "a tile is not twice as high as C");
    rules.worth(p.bn <= 32 || problem.n > p.bn / 2, "a tile is not twice as wide as C");
    const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
    rules.worth(p.stream == 0 || tiles % resident_blocks(p.min_blocks, device) != 0,
                "STREAM shares tiles that fill no wave");
    rules.worth(p.split == 1 || tiles * (p.split / 2) < 2 * device.sm_count, "SPLIT is for few tiles");
    rules.worth(p.split == 1 || ceil_div(problem.k, bk(problem, p)) >= 2 * p.split,
                "every part has at least two stages");
    split_rule(rules, p.split, tiles, resident_blocks(p.min_blocks, device));
    rules.worth(p.group == 1 || ceil_div(problem.m, p.bm) > p.group / 2, "GROUP is at most the rows of tiles");
  }

  static Summation summation(const Problem& problem, const Params& p, const DeviceSpec& device) {
    Summation summation = tensor_summation(problem.precision, device, false);
    if (element_bytes(problem) == 8 && compute_capability(device) == 90) {
      summation.step = piece_bytes(problem, p) / element_bytes(problem);
    }
    summation.promotion = promotion_stages(problem, p) * bk(problem, p);
    summation.part = summed_part(problem, p.split, bk(problem, p));
    if (p.stream == 1) summation.adder = Summation::Adder::other;
    return summation;
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    LaunchPlan plan;
    plan.constants = {{"PIECE_BYTES", piece_bytes(problem, p)},
                      {"VA", vector_width(align_a(problem, p), types.a)},
                      {"VB", vector_width(align_b(problem, p), types.b)},
                      {"VC", vector_width(problem.align.c, types.c)},
                      {"PROMOTE", promotion_stages(problem, p)},
                      {"BLOCKS", p.stream == 1 ? resident_blocks(p.min_blocks, device) : 0},
                      {"PREPARE_THREADS", kPrepareThreads},
                      {"REDUCE_THREADS", kReduceThreads},
                      {"PACK_THREADS", kPackThreads},
                      {"PACK_VECTOR", vector_width(packs_a(problem, p) ? problem.align.a : problem.align.b, types.a)}};
    plan.needs = problem.align;
    const MatrixArgs copy =
        p.pack > 0 ? add_copy(plan, "copy", packed_shape(problem, p), types.a.bytes, kUnitBytes) : MatrixArgs{};
    const MatrixArgs a = packs_a(problem, p) ? copy : stored(Operand::a);
    const MatrixArgs b = packs_b(problem, p) ? copy : stored(Operand::b);
    const Arg partial = add_partial_sums(plan, problem, p.split);
    const std::int64_t sharers = p.stream == 1 ? resident_blocks(p.min_blocks, device) : 0;
    const std::int64_t tile_bytes = static_cast<std::int64_t>(p.bm) * p.bn * types.accumulator.bytes;
    const SharedSums shared = add_shared_sums(plan, sharers, tile_bytes);
    if (p.pack > 0) {
      plan.steps.push_back(pack_step(problem, p, copy, shared.flags));
    } else if (p.stream == 1) {
      plan.steps.push_back(prepare_step(shared.flags));
    }
    LaunchStep gemm;
    gemm.grid = grid_of(p.stream == 1 ? sharers : tiles_of_c(problem, p.bm, p.bn) * p.split, p.split);
    gemm.resident = p.stream == 1;
    gemm.block.x = threads(p);
    gemm.smem_bytes = shared_bytes(problem, p, device);
    gemm.args = blas_arguments(a, b);
    gemm.pass({partial, shared.tiles, shared.flags, k_tiles_of_part(problem, p.split, bk(problem, p))});
    plan.steps.push_back(std::move(gemm));
    add_reduce_step(plan, problem, partial, p.split);
    overlap_steps(plan, device);
    plan.work = estimate(problem, p, device);
    plan.work.kept_bytes = shared.kept_bytes;
    return plan;
  }

  static StoredShape packed_shape(const Problem& problem, const Params& p) {
    return packs_a(problem, p) ? stored_a(problem) : stored_b(problem);
  }
  static LaunchStep pack_step(const Problem& problem, const Params& p, const MatrixArgs& copy, Arg flags) {
    const bool is_a = packs_a(problem, p);
    const Operand operand = is_a ? Operand::a : Operand::b;
    // Extents, so that nothing is read where k is 0 or alpha is.
    const Arg extent = Arg::extent(is_a ? Extent::m : Extent::n), k = Arg::extent(Extent::k);
    const bool is_along_k = is_a ? !transposes_a(problem.layout) : transposes_b(problem.layout);
    LaunchStep pack;
    pack.kernel = "pack";
    const std::int64_t units_of_row = copy.ld.value * element_bytes(problem) / kUnitBytes;
    pack.grid.x = std::max<std::int64_t>(1, ceil_div(packed_shape(problem, p).rows * units_of_row, kPackThreads));
    pack.block.x = kPackThreads;
    pack.args = {(is_along_k ? extent : k).as("rows"),
                 (is_along_k ? k : extent).as("columns"),
                 Arg::operand(operand).as("source"),
                 Arg::ld(operand).as("ld"),
                 copy.address.as("copy"),
                 copy.ld.as("copy_ld"),
                 flags};
    return pack;
  }

  static int vector_width(int align_bytes, const FormatTraits& format) {
    return std::max(1, align_bytes / format.bytes);
  }

  static std::span<const Proven> proven() { return proven_mma_sync(); }

  static WorkEstimate estimate(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    const double elements = static_cast<double>(piece_bytes(problem, p)) / types.a.bytes;  // A piece has them along k.
    const double products = p.wm * p.wn / (kPieceRows * kPieceColumns);
    const double reads_a = is_unaligned(problem, align_a(problem, p), device) ? kUnalignedReads : 1;
    const double reads_b = is_unaligned(problem, align_b(problem, p), device) ? kUnalignedReads : 1;
    const double loads = (p.wm * reads_a + p.wn * reads_b) / kPieceRows;
    const ModelNumbers& numbers = model_numbers(device);
    WorkEstimate work;
    work.unit = types.unit;
    work.by_warps = true;
    // What a thread issues for a piece along k, by its multiply-adds: a thread's share of an instruction's products is
    // 4 for each element along k.
    work.issue_slots_per_fma =
        (products + numbers.mma_load_slots * loads + numbers.mma_piece_slots) / (products * 4 * elements) +
        numbers.mma_narrow_slots * narrow_elements(problem, p, device);
    const double bytes_a = static_cast<double>(p.bm) * types.a.bytes;
    const double bytes_b = static_cast<double>(p.bn) * types.b.bytes;
    work.bytes_per_k = bytes_a * touched_share(problem, align_a(problem, p),
                                               transposes_a(problem.layout) ? bytes_a : p.bk_bytes, device) +
                       bytes_b * touched_share(problem, align_b(problem, p),
                                               transposes_b(problem.layout) ? p.bk_bytes : bytes_b, device);
    work.smem_bytes_per_fma = (reads_a * p.wm + reads_b * p.wn) * types.a.bytes / (p.wm * p.wn) +
                              static_cast<double>(p.bm + p.bn) * types.a.bytes / (p.bm * p.bn);  // read and written
    if (std::min(align_a(problem, p), align_b(problem, p)) == kUnitBytes && is_async(problem, kUnitBytes, device)) {
      work.fetch = Fetch::copies;
      work.in_place_a = bytes_a;
      work.in_place_b = bytes_b;
    }
    work.copies_first = p.pack > 0;
    work.tile_m = p.bm;
    work.tile_n = p.bn;
    work.tile_k = bk(problem, p);
    work.k_lanes = piece_bytes(problem, p) / types.a.bytes;
    work.split_k = p.split;
    work.shares_last_wave = p.stream == 1;
    work.registers = registers(problem, p, device);
    if (p.stream == 1) {
      // Its walk from tile to tile takes some more. And where more than MIN_BLOCKS blocks would fit, no more are
      // launched.
      const int least = device.max_registers_per_sm / (threads(p) * (p.min_blocks + 1)) + 1;
      work.registers = std::min(255, std::max(work.registers + whole(numbers.mma_walk_registers), least));
    }
    work.bytes_in_flight = (p.stages - 1) * (p.bm + p.bn) * p.bk_bytes;
    return work;
  }
};

}  // namespace

MMTUNE_FAMILY(mma_sync, MmaSync)

}  // namespace mmtune
