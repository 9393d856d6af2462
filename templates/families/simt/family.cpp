// The register-tiled family that competes on CUDA cores; see kernel.cu for the picture.
#include <algorithm>

#include "templates/families/simt/params.h"
#include "templates/families/simt/proven.h"
#include "templates/families/simt/shape.h"
#include "templates/family/family_of.h"
#include "templates/family/min_blocks.h"
#include "templates/family/split_k.h"
#include "templates/model/numbers.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

using namespace simt_shape;  // NOLINT(google-build-using-namespace): what this family computes with throughout

struct Simt {
  using Params = SimtParams;

  static constexpr std::string_view kName = "simt";
  static constexpr std::string_view kSummary =
      "block, warp and thread tiles on CUDA cores; copies through registers, by cp.async or by TMA; split-K, stream-K, "
      "sliced-K";

  /// Steps along k that STREAM sums in one go at most; a multiple of every BK. The error of a sum grows with the square
  /// root of its length, so that s slices leave 1/sqrt(s) of it; each costs a pass of the tile through L2.
  static constexpr int kSlice = 1024;

  static constexpr int kNarrowTile = 16;   ///< the rows or columns of the narrowest tiles
  static constexpr int kFewThreads = 128;  ///< one warp for each scheduler of an SM
  /// Columns of tiles: as many share a row of A as rows of GROUP share B.
  static constexpr std::int64_t kFewColumns = 8;
  static constexpr int kPackTile = 64;      ///< rows and columns of a tile that one block of pack copies
  static constexpr int kPackThreads = 256;  ///< threads of a block of pack

  static const ParamTable<Params>& table() { return simt_params(); }

  /// Steps along k that are summed in one go without STREAM. cuBLAS, whose error is the yardstick, takes 2048 and more
  /// of aligned operands, up to 2300 of others where blocks share a tile's k, and far fewer where they do not.
  static std::int64_t longest_sum(const Problem& problem, const Params& p) {
    return p.split > 1 || std::min(problem.align.a, problem.align.b) == 16 ? 9 * kSlice / 4 : kSlice;
  }

  static std::int64_t tile_bytes(const Problem& problem, const Params& p) {
    return static_cast<std::int64_t>(p.bm) * p.bn * traits(problem.precision).accumulator.bytes;
  }

  /// Rules that leave out most come first, and each looks last at what may not matter: what the search has not looked
  /// at tells no configurations apart (templates/space/enumerate.cpp).
  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    warp_rules(problem, p, rules);
    if (!rules.ok()) return;  // threads() is only right for whole warps.
    warps_k_rules(problem, p, device, rules);
    block_rules(problem, p, rules);
    copy_rules(problem, p, device, rules);
    register_rules(problem, p, device, rules);
    split_rules(problem, p, device, rules);
    stream_rules(problem, p, device, rules);
    cut_rules(problem, p, rules);
    group_rules(problem, p, device, rules);
  }

  static void warp_rules(const Problem& problem, const Params& p, Rules& rules) {
    rules.worth((p.bm > kNarrowTile || problem.m <= kNarrowTile) && (p.bn > kNarrowTile || problem.n <= kNarrowTile),
                "tiles of 16 rows or columns are for as few");
    rules.must(p.bm % (p.tm * (32 / p.lanes_n)) == 0, "a warp's rows divide BM");
    rules.must(p.bn % (p.tn * p.lanes_n) == 0, "a warp's columns divide BN");
  }

  static void block_rules(const Problem& problem, const Params& p, Rules& rules) {
    const int words = accumulator_registers(problem);
    rules.must(threads(p) >= 64 && threads(p) <= 512, "64 to 512 threads per block");
    rules.must(p.tm * p.tn >= 8 && words * p.tm * p.tn <= 128, "8 to 128 registers of sums per thread");
    rules.must(p.bk % (p.warps_k * p.unroll) == 0, "UNROLL divides a warp's steps of BK");
    rules.must(problem.k / p.bk < kCoordinatesEnd, "stages along k are counted in 32 bits");
  }

  static void copy_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(p.load > 0 || p.stages == 2, "copies through registers use two stages");
    rules.must(p.load == 0 || multiplied_as_stored(problem), "cp.async and TMA cannot widen elements on the way");
    rules.must(!copies_async(p) || compute_capability(device) >= 80, "cp.async needs compute capability 8.0");
    rules.must(p.load != 2 || compute_capability(device) >= 90, "TMA needs compute capability 9.0");
    rules.must(p.load != 2 || has_coordinates(problem), "coordinates of the accelerator have 32 bits");
    rules.must(p.pack == 0 || packs_a(problem, p) || packs_b(problem, p), "PACK needs an operand that gains by it");
    rules.worth(p.pack == 0 || (p.load > 0 && std::min(problem.m, problem.n) >= 256),
                "PACK pays where both m and n are large and copies are asynchronous");
    rules.must(p.load == 0 || transposes_async(p) || !a_along_k(problem, p) || !b_along_k(problem, p),
               "operands contiguous along k pass through registers");
    rules.must(!transposes_async(p) || a_along_k(problem, p) || b_along_k(problem, p),
               "there is an operand that cp.async transposes");
    rules.worth(!transposes_async(p) || (a_along_k(problem, p) && b_along_k(problem, p)) ||
                    std::min(problem.align.a, problem.align.b) < 16,
                "elements are copied one by one where they are not aligned, or nothing else is asynchronous");
    rules.must(p.load != 2 || a_along_k(problem, p) || packs_a(problem, p) || problem.align.a == 16,
               "TMA needs A aligned to 16 bytes");
    rules.must(p.load != 2 || b_along_k(problem, p) || packs_b(problem, p) || problem.align.b == 16,
               "TMA needs B aligned to 16 bytes");
  }

  static void register_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const int block = threads(p);
    const ModelNumbers& numbers = model_numbers(device);
    min_blocks_rules(rules, registers(problem, p, numbers), block, p.min_blocks, device);
    // With room for one block more than MIN_BLOCKS says, the compiler makes the same program.
    const double wanted = wanted_registers(problem, p, numbers) + numbers.simt_wanted_margin;
    rules.worth(p.stream == 1 || p.min_blocks == 4 ||
                    wanted * block * (p.min_blocks + 1) > device.max_registers_per_sm ||
                    !shared_memory_allows(p.min_blocks + 1, shared_bytes(problem, p), device),
                "MIN_BLOCKS limits the registers");
    rules.worth(p.tm * p.tn < 64 || p.order > 0, "large thread tiles turn at the end of a row");
    rules.worth(staged_extent(problem, p) * p.bk / block * accumulator_registers(problem) <= 48,
                "at most 48 registers of staged elements per thread");
  }

  static void split_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
    rules.worth(tiles < 2 * device.sm_count || p.split == 1, "SPLIT is for fewer tiles than two per SM");
    rules.worth(p.split == 1 || 2 * ceil_div(problem.k, p.bk) > p.split,
                "more than half of the splits have tiles of k");
    rules.worth(
        p.split <= 8 || tiles * 8 < device.sm_count || tiles * p.split <= 2 * resident_blocks(p.min_blocks, device),
        "more than 8 splits are for very few tiles, or make at most two waves");
    rules.worth(p.split <= 32 || tiles * p.split <= 2 * device.sm_count,
                "more than 32 splits make at most two blocks per SM");
    split_rule(rules, p.split, tiles, resident_blocks(p.min_blocks, device));
    rules.must(p.reduce == 0 || (p.split > 1 && p.split <= device.max_cluster_size),
               "REDUCE over a cluster needs SPLIT blocks in a cluster");
    rules.must(p.reduce == 0 || p.tm * p.tn % (p.split * p.warps_k) == 0,
               "REDUCE over a cluster gives each block as many sums");
  }

  static void stream_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const bool streams = compute_capability(device) >= 70;
    rules.must(p.stream == 0 || p.split == 1, "STREAM shares tiles itself and needs no SPLIT");
    rules.must(p.stream == 0 || streams, "STREAM's flags need compute capability 7.0");
    // An invariant product has parts of its own: slices would be another order.
    rules.worth(p.stream == 1 || !streams || problem.invariant || traits(problem.precision).accumulator.integer ||
                    problem.k <= longest_sum(problem, p) * p.split * p.warps_k,
                "long sums are taken in slices, as STREAM and SPLIT do");
    rules.must(p.stream == 0 || shared_memory_allows(p.min_blocks, shared_bytes(problem, p), device),
               "STREAM needs MIN_BLOCKS blocks per SM at once");
    rules.worth(shared_memory_allows(p.min_blocks, shared_bytes(problem, p), device),
                "shared memory allows MIN_BLOCKS blocks per SM");
  }

  static void warps_k_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(p.tm * p.tn % (p.warps_k * fragment_vector(problem, p)) == 0,
               "WARPS_K gives each thread as many vectors of sums");
    rules.worth(p.warps_k == 1 || tile_threads(p) <= kFewThreads, "WARPS_K is for tiles with few warps");
    rules.worth(p.warps_k == 1 || tiles_of_c(problem, p.bm, p.bn) * p.split <= 2 * device.sm_count,
                "WARPS_K is for at most two blocks per SM");
    rules.must(p.warps_k == 1 || (p.stream == 0 && p.cut == 0), "WARPS_K is for blocks with one part of one tile");
    rules.worth(p.bk <= 32 || p.warps_k > 1, "stages of more than 32 steps are for WARPS_K");
  }

  static void cut_rules(const Problem& problem, const Params& p, Rules& rules) {
    rules.must(p.cut == 0 || (p.split == 1 && p.stream == 0), "CUT is for blocks that have all of a tile's k");
    rules.worth(p.cut == 0 || (problem.invariant && parts(problem, p) > 1), "CUT is for invariant products in parts");
  }

  static void group_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const std::int64_t rows = ceil_div(problem.m, p.bm);  // No GROUP is too large for more than two.
    const std::int64_t columns = ceil_div(problem.n, p.bn);
    rules.worth(rows > 2 || p.group < 4 * rows, "GROUP is below four times the rows of tiles");
    rules.worth(rows <= 2 || columns <= kFewColumns || rows * columns < device.sm_count || p.group > 1,
                "GROUP lets neighbours share what L2 holds");
  }

  /// The parts of k, whose sums are added.
  static int parts(const Problem& problem, const Params& p) { return p.cut == 1 ? core_parts(problem) : p.split; }

  static Summation summation(const Problem& problem, const Params& p, const DeviceSpec&) {
    return {.adder = p.stream == 1 || p.warps_k > 1 ? Summation::Adder::other : Summation::Adder::fma,
            .part = summed_part(problem, parts(problem, p), p.bk)};
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchPlan plan;
    plan.steps.reserve(3);
    plan.constants = constants(problem, p, device);
    plan.needs = problem.align;
    const PrecisionTraits& types = traits(problem.precision);
    const MatrixArgs a = packs_a(problem, p)
                             ? add_copy(plan, "copy of A", {problem.k, problem.m}, types.a.bytes, kRowBytes)
                             : stored(Operand::a);
    const MatrixArgs b = packs_b(problem, p)
                             ? add_copy(plan, "copy of B", {problem.k, problem.n}, types.b.bytes, kRowBytes)
                             : stored(Operand::b);
    const Sums sums = add_sums(plan, problem, p, device);
    if (p.pack == 1) {
      plan.steps.push_back(pack_step(problem, p, a, b, sums.flags));
    } else if (p.stream == 1) {
      plan.steps.push_back(prepare_step(sums.flags));
    }

    plan.steps.push_back(gemm_step(problem, p, device, a, b, sums));
    if (p.load == 2) add_maps(plan, plan.steps.back(), problem, p, a, b);
    add_reduce_step(plan, problem, sums.partial, parts_in_workspace(p));
    overlap_steps(plan, device);
    plan.work = estimate(problem, p, device);
    plan.work.kept_bytes = sums.kept_bytes;
    return plan;
  }

  /// The parts of each tile's k whose sums a step adds.
  static int parts_in_workspace(const Params& p) { return p.reduce == 0 ? p.split : 1; }

  static std::vector<Constant> constants(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    return {{"PACK_A", packs_a(problem, p)},
            {"PACK_B", packs_b(problem, p)},
            {"A_ALONG_K", a_along_k(problem, p)},
            {"B_ALONG_K", b_along_k(problem, p)},
            {"VA", vector_width(packs_a(problem, p) ? kRowBytes : problem.align.a, types.a)},
            {"VB", vector_width(packs_b(problem, p) ? kRowBytes : problem.align.b, types.b)},
            {"VC", vector_width(problem.align.c, types.c)},
            {"BLOCKS", p.stream == 1 ? resident_blocks(p.min_blocks, device) : 0},
            {"SLICE", kSlice},
            {"PACK_TILE", kPackTile},
            {"PACK_THREADS", kPackThreads},
            {"PACK_SMEM_BYTES", pack_bytes(problem)},
            {"PREPARE_THREADS", kPrepareThreads},
            {"REDUCE_THREADS", kReduceThreads}};
  }

  /// Where blocks leave sums for each other: those of every part of k; for every block of STREAM two tiles, the sums of
  /// its slices and those that it hands over, and a flag.
  struct Sums {
    Arg partial, tiles, flags;
    std::int64_t kept_bytes;  ///< the bytes that STREAM uses again and again
  };

  static Sums add_sums(LaunchPlan& plan, const Problem& problem, const Params& p, const DeviceSpec& device) {
    const std::int64_t sharers = p.stream == 1 ? resident_blocks(p.min_blocks, device) : 0;
    const Arg partial = add_partial_sums(plan, problem, parts_in_workspace(p));
    const SharedSums shared = add_shared_sums(plan, sharers, 2 * tile_bytes(problem, p));
    return {.partial = partial, .tiles = shared.tiles, .flags = shared.flags, .kept_bytes = shared.kept_bytes};
  }

  /// Shared memory for a tile, whose rows are spread over the banks.
  static int pack_bytes(const Problem& problem) {
    const PrecisionTraits& types = traits(problem.precision);
    return kPackTile * (kPackTile + 1) * std::max(types.a.bytes, types.b.bytes);
  }

  /// One tile a block: first all of A, then all of B.
  static LaunchStep pack_step(const Problem& problem, const Params& p, const MatrixArgs& a, const MatrixArgs& b,
                              Arg flags) {
    const auto tiles = [](bool packs, std::int64_t extent) { return packs ? ceil_div(extent, kPackTile) : 0; };
    const std::int64_t extents = tiles(packs_a(problem, p), problem.m) + tiles(packs_b(problem, p), problem.n);
    LaunchStep pack;
    pack.kernel = "pack";
    pack.grid.x = std::max<std::int64_t>(1, ceil_div(problem.k, kPackTile) * extents);
    pack.block.x = kPackThreads;
    pack.smem_bytes = pack_bytes(problem);
    pack.args = operand_arguments();
    pack.pass({a.address.as("copy_a"), a.ld.as("copy_lda"), b.address.as("copy_b"), b.ld.as("copy_ldb"), flags});
    return pack;
  }

  static LaunchStep gemm_step(const Problem& problem, const Params& p, const DeviceSpec& device, const MatrixArgs& a,
                              const MatrixArgs& b, const Sums& sums) {
    LaunchStep gemm;
    const std::int64_t blocks =
        p.stream == 1 ? resident_blocks(p.min_blocks, device) : tiles_of_c(problem, p.bm, p.bn) * p.split;
    gemm.grid = grid_of(blocks, parts_in_workspace(p));
    gemm.resident = p.stream == 1;
    gemm.block.x = threads(p);
    gemm.smem_bytes = shared_bytes(problem, p);
    gemm.args = blas_arguments(a, b);
    gemm.pass({sums.partial, sums.tiles, sums.flags, k_tiles_of_part(problem, parts(problem, p), p.bk)});
    if (p.reduce == 1) gemm.cluster.x = p.split;
    return gemm;
  }

  /// Maps of the operands that the accelerator copies. Another operand, which passes through registers, gets the same
  /// map and does not look at it.
  static void add_maps(LaunchPlan& plan, LaunchStep& gemm, const Problem& problem, const Params& p, const MatrixArgs& a,
                       const MatrixArgs& b) {
    const auto add = [&](std::string_view name, const MatrixArgs& matrix, int element_bytes, std::int64_t extent,
                         int box) {
      const bool is_copy = matrix.ld.kind == Arg::Kind::number;
      const MapStride row = is_copy ? MapStride{.bytes = matrix.ld.value * element_bytes} : MapStride{.rows = 1};
      return plan.add_map({.name = name,
                           .base = matrix.address,
                           .format = bits_format(element_bytes),
                           .dimensions = {{extent, box}, {problem.k, p.bk, row}}});
    };
    const PrecisionTraits& types = traits(problem.precision);
    const bool maps_a = !a_along_k(problem, p), maps_b = !b_along_k(problem, p);
    const Arg map_a = maps_a ? add("A", a, types.a.bytes, problem.m, p.bm) : Arg{};
    const Arg map_b = maps_b ? add("B", b, types.b.bytes, problem.n, p.bn) : map_a;
    gemm.kernel = "gemm_tma";
    gemm.pass({(maps_a ? map_a : map_b).as("map_a"), map_b.as("map_b")});
  }

  static WorkEstimate estimate(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    const ModelNumbers& numbers = model_numbers(device);
    const double fma_per_k = static_cast<double>(p.tm) * p.tn;
    const double vector = fragment_vector(problem, p);
    const double fragment_loads = (p.tm + p.tn) / vector;
    const auto copies = [&](bool along_k, bool packed, int align, const FormatTraits& format, int extent) {
      const double moves = static_cast<double>(vector_width(kRowBytes, format)) /
                           vector_width(packed ? kRowBytes : align, format);  // one, where 16 bytes are
      const double each = along_k && transposes_async(p)
                              ? numbers.simt_async_transposed_slots * vector_width(kRowBytes, format)
                          : along_k         ? numbers.simt_transposed_slots + numbers.simt_transposed_move_slots * moves
                          : p.load == 0     ? numbers.simt_staged_slots + numbers.simt_staged_move_slots * moves
                          : copies_async(p) ? numbers.simt_async_move_slots * moves
                                            : 0;
      return each * extent / tile_threads(p);
    };
    const double staging = copies(a_along_k(problem, p), packs_a(problem, p), problem.align.a, types.a, p.bm) +
                           copies(b_along_k(problem, p), packs_b(problem, p), problem.align.b, types.b, p.bn);
    WorkEstimate work;
    work.issue_slots_per_fma = 1 + (numbers.simt_fragment_slots * fragment_loads + staging +
                                    numbers.simt_tile_slots * p.warps_k / p.bk + numbers.simt_round_slots / p.unroll) /
                                       fma_per_k;
    constexpr double kLoadAddStore = 3;  // the issue slots for a sum at the end of a part
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, problem.k));
    if (p.cut == 1) work.issue_slots_per_fma += kLoadAddStore * parts(problem, p) / steps;
    if (p.warps_k > 1) work.issue_slots_per_fma += kLoadAddStore * p.warps_k * p.split / steps;
    // The main loop takes longer where it walks slices of tiles, or spills, which begins a little before registers run
    // out.
    if (p.stream == 1) work.issue_slots_per_fma *= numbers.simt_stream_factor;
    const double wanted = wanted_registers(problem, p, numbers);
    const double allowed =
        std::min(device.max_registers_per_thread, device.max_registers_per_sm / (threads(p) * p.min_blocks) / 8 * 8);
    work.issue_slots_per_fma *=
        1 + numbers.simt_spill_factor * std::max(0.0, wanted + numbers.simt_spill_margin - allowed);
    work.bytes_per_k = p.bm * types.a.bytes + p.bn * types.b.bytes;
    // Threads of a warp share rows and columns, so that some of their loads are served at once.
    const bool is_narrow = vector * types.accumulator.bytes < 16;
    const double served = is_narrow ? numbers.simt_served_narrow : numbers.simt_served_wide;
    work.smem_bytes_per_fma = served * (p.tm + p.tn) * types.accumulator.bytes / fma_per_k;
    work.tile_m = p.bm;
    work.tile_n = p.bn;
    work.tile_k = p.bk;
    work.split_k = p.split;
    work.shares_last_wave = p.stream == 1;
    work.copies_first = p.pack == 1;
    work.registers = static_cast<int>(std::min(wanted, allowed));
    work.bytes_in_flight = static_cast<int>((p.stages - 1) * p.bk * work.bytes_per_k);
    return work;
  }

  static Params default_params(const Problem& problem) {
    Params params;
    if (accumulator_registers(problem) > 1) params.tm = 4;
    params.cut = problem.invariant && core_parts(problem) > 1 ? 1 : 0;
    return params;
  }

  static std::span<const Proven> proven() { return proven_simt(); }
};

}  // namespace

MMTUNE_FAMILY(simt, Simt)

}  // namespace mmtune
