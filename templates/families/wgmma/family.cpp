// Hopper's tensor cores, fed by the tensor memory accelerator; see kernel.cu for the picture.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "templates/families/wgmma/estimate.h"
#include "templates/families/wgmma/proven.h"
#include "templates/families/wgmma/rules.h"
#include "templates/families/wgmma/shape.h"
#include "templates/family/family_of.h"
#include "templates/family/split_k.h"
#include "templates/family/stored_boxes.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

using namespace wgmma_shape;  // NOLINT(google-build-using-namespace): what this family computes with throughout

struct Wgmma {
  using Params = wgmma_shape::Params;

  static constexpr std::string_view kName = "wgmma";
  static constexpr std::string_view kSummary =
      "Hopper's tensor cores: warpgroup multiplication from a TMA pipeline, clusters with multicast, persistent blocks";

  static constexpr int kMostBox = 256;  ///< the rows that the accelerator copies at once
  static constexpr int kPackThreads = 256;
  static constexpr int kPackTile = 64;   ///< the rows and columns that a block of pack() transposes
  static constexpr int kUnitBytes = 16;  ///< the bytes that a thread of pack() copies at once, but where it transposes

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM",
         &Params::bm,
         {16,  24,  32,  40,  48,  56,  64,  72,  80,  88,  96,  104, 112, 120, 128, 136,
          144, 152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 256, 272, 320},
         "rows of C per tile"},
        {"BN",
         &Params::bn,
         {24,  32,  40,  48,  56,  64,  72,  80,  88,  96,  104, 112, 120, 128, 136, 144,
          152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 256, 272, 320},
         "columns of C per tile"},
        {"CONSUMERS", &Params::consumers, {1, 2, 3}, "warpgroups that multiply"},
        {"PINGPONG", &Params::pingpong, {0, 1}, "1: consumers have tiles of their own and take turns to multiply"},
        {"CLUSTER_M", &Params::cluster_m, {1, 2, 4}, "blocks along m that share tiles of B"},
        {"CLUSTER_N", &Params::cluster_n, {1, 2, 4}, "blocks along n that share tiles of A"},
        {"SWAP", &Params::swap, {0, 1}, "1: the 64 rows of an instruction are columns of C, its columns rows of C"},
        {"GROUP", &Params::group, {1, 4, 8, 16, 32, 64}, "rows of tiles walked together, for reuse in L2"},
        {"SPLIT", &Params::split, {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32}, "parts of k, whose sums are added"},
        {"PACK", &Params::pack, {0, 1}, "1: operands whose rows do not begin with a line are first copied"},
        {"REDUCE", &Params::reduce, {0, 1}, "parts are added by: 0 a second kernel, 1 a cluster of blocks"},
        {"STREAM", &Params::stream, {0}, "nothing: databases name it, where 1 never won"},
        {"MIN_BLOCKS", &Params::min_blocks, {1, 2}, "blocks that share an SM, which the program leaves room for"},
        {"OWN_PARTS", &Params::own_parts, {1, 2}, "parts of k that a block adds up one after the other"},
        {"LATE", &Params::late, {0, 1}, "1: the next call is let in after the last results, not before them"},
        {"FETCH", &Params::fetch, {128, 256}, "bytes that L2 fetches at least of an operand"},
    };
    return rows;
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(compute_capability(device) == 90, "wgmma needs compute capability 9.0");
    rules.must(multiplies(problem.precision), "wgmma multiplies 16-bit, 8-bit and tf32 elements");
    rules.must(has_coordinates(problem), "coordinates of the accelerator have 32 bits");
    tile_rules(problem, p, device, rules);
    if (!rules.ok()) return;
    rules.must(packs_a(problem, p) || problem.align.a == 16, "TMA needs A aligned to 16 bytes, or a copy");
    rules.must(packs_b(problem, p) || problem.align.b == 16, "TMA needs B aligned to 16 bytes, or a copy");
    rules.must(packs_a(problem, p) || !turns_a(problem, p), "A lies along k, is rows of 32 bits, or is copied");
    rules.must(packs_b(problem, p) || !turns_b(problem, p), "B lies along k, is rows of 32 bits, or is copied");
    rules.must(p.pack == 0 || packs_a(problem, p) || packs_b(problem, p), "PACK needs an operand that gains by it");
    size_rules(problem, p, device, rules);
  }

  static Summation summation(const Problem& problem, const Params& p, const DeviceSpec& device) {
    Summation summation = tensor_summation(problem.precision, device, true);
    summation.part = summed_part(problem, p.split * p.own_parts, bk(problem));
    return summation;
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchPlan plan;
    plan.constants = constants(problem, p, device);
    plan.needs = {packs_a(problem, p) ? problem.align.a : 16, packs_b(problem, p) ? problem.align.b : 16,
                  problem.align.c};
    const Input a = input(plan, problem, p, Operand::a);
    const Input b = input(plan, problem, p, Operand::b);
    if (p.pack == 1) plan.steps.push_back(pack_step(problem, p, a, b));
    const int parts = p.reduce == 1 ? 1 : p.split;  // the parts whose sums a step adds
    const Arg partial = add_partial_sums(plan, problem, parts);
    plan.steps.push_back(gemm_step(plan, problem, p, device, a, b, partial));
    add_reduce_step(plan, problem, partial, parts);
    overlap_steps(plan, device);
    plan.may_spill = p.own_parts > 1;  // What spills is used at the ends of parts alone.
    plan.work = estimate(problem, p, device);
    return plan;
  }

  static std::vector<Constant> constants(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    return {{"CLUSTER_M", p.cluster_m > 1 ? kAtLaunch : 1},
            {"CLUSTER_N", p.cluster_n > 1 ? kAtLaunch : 1},
            {"GROUP", kAtLaunch},
            {"FETCH", kLine},  // The maps say it. Not kAtLaunch: no prediction depends on it, so that none is weighed.
            {"STAGES", stages(problem, p, device)},
            {"STORE_BUFFERS", store_buffers(problem, p, device)},
            {"FIRST_COLUMNS", first_columns(p, device)},
            {"ADDERS", adders(p)},
            {"A_ALONG_K", a_along_k(problem, p)},
            {"B_ALONG_K", b_along_k(problem, p)},
            {"LINE_A", line_a(problem, p)},
            {"LINE_B", line_b(problem, p)},
            {"TURNS_A", turns_a(problem, p)},
            {"TURNS_B", turns_b(problem, p)},
            {"FROM_REGISTERS", rows_from_registers(problem, p)},
            {"PROMOTES", promotes(problem)},
            {"VA", std::max(1, problem.align.a / types.a.bytes)},
            {"VB", std::max(1, problem.align.b / types.b.bytes)},
            {"STORE_BOXES", stores_boxes(problem)},
            {"LATE", !is_followed_early(p)},
            {"MOVES_REGISTERS", moves_registers(p)},
            {"PRODUCER_REGISTERS", producer_registers(problem, p)},
            {"CONSUMER_REGISTERS", consumer_registers(problem, p, device)},
            {"PACK_THREADS", kPackThreads},
            {"PACK_TILE", kPackTile},
            {"PACK_SMEM_BYTES", pack_bytes(problem, p)},
            {"REDUCE_THREADS", kReduceThreads}};
  }

  /// An operand as the main loop finds it: stored, or copied to rows of whole lines.
  struct Input {
    StoredShape shape;  ///< the shape of the copy, where it is one
    int element_bytes;
    bool is_copy;
    bool is_turned;  ///< whether the copy is transposed
    MatrixArgs matrix;
    MapStride row;  ///< the stride from row to row
  };

  static Input input(LaunchPlan& plan, const Problem& problem, const Params& p, Operand operand) {
    const bool is_a = operand == Operand::a;
    StoredShape shape = is_a ? stored_a(problem) : stored_b(problem);
    const int bytes = is_a ? traits(problem.precision).a.bytes : traits(problem.precision).b.bytes;
    if (!(is_a ? packs_a(problem, p) : packs_b(problem, p)))
      return {shape, bytes, false, false, stored(operand), {.rows = 1}};
    const bool turns = is_a ? turns_a(problem, p) : turns_b(problem, p);
    if (turns) std::swap(shape.rows, shape.columns);
    const StoredShape least{shape.rows, std::max<std::int64_t>(1, shape.columns)};
    const MatrixArgs copy = add_copy(plan, is_a ? "copy of A" : "copy of B", least, bytes, kLine);
    return {shape, bytes, true, turns, copy, {.bytes = copy.ld.value * bytes}};
  }

  /// The blocks of pack() for an operand.
  static std::int64_t pack_blocks(const Input& input) {
    if (!input.is_copy) return 0;
    if (!input.is_turned) return ceil_div(input.shape.rows * (input.row.bytes / kUnitBytes), kPackThreads);
    return ceil_div(input.shape.rows, kPackTile) * ceil_div(input.shape.columns, kPackTile);
  }

  /// Shared memory for a tile that is transposed, whose rows are spread over the banks.
  static int pack_bytes(const Problem& problem, const Params& p) {
    const bool turns = p.pack == 1 && (turns_a(problem, p) || turns_b(problem, p));
    return turns ? kPackTile * (kPackTile + 1) * traits(problem.precision).a.bytes : 0;
  }

  static LaunchStep pack_step(const Problem& problem, const Params& p, const Input& a, const Input& b) {
    LaunchStep pack;
    pack.kernel = "pack";
    pack.grid.x = std::max<std::int64_t>(1, pack_blocks(a) + pack_blocks(b));
    pack.block.x = kPackThreads;
    pack.smem_bytes = pack_bytes(problem, p);
    // Extents, so that nothing is read where k is 0 or alpha is.
    const Arg m = Arg::extent(Extent::m), n = Arg::extent(Extent::n), k = Arg::extent(Extent::k);
    const bool a_is_k_m = transposes_a(problem.layout), b_is_n_k = transposes_b(problem.layout);
    pack.args = {(a_is_k_m ? k : m).as("rows_a"),
                 (a_is_k_m ? m : k).as("columns_a"),
                 Arg::operand(Operand::a),
                 Arg::ld(Operand::a),
                 a.matrix.address.as("copy_a"),
                 a.matrix.ld.as("copy_lda"),
                 (b_is_n_k ? n : k).as("rows_b"),
                 (b_is_n_k ? k : n).as("columns_b"),
                 Arg::operand(Operand::b),
                 Arg::ld(Operand::b),
                 b.matrix.address.as("copy_b"),
                 b.matrix.ld.as("copy_ldb"),
                 Arg::number(pack_blocks(a)).as("blocks_a"),
                 Arg::number(pack_blocks(b)).as("blocks_b")};
    return pack;
  }

  static LaunchStep gemm_step(LaunchPlan& plan, const Problem& problem, const Params& p, const DeviceSpec& device,
                              const Input& a, const Input& b, Arg partial) {
    const std::int64_t tiles_m = ceil_div(ceil_div(problem.m, p.bm), p.cluster_m);
    const std::int64_t tiles_n = ceil_div(ceil_div(problem.n, p.bn), p.cluster_n);
    const std::int64_t turns = tiles_m * tiles_n * p.split;
    LaunchStep gemm;
    // Blocks that add parts have one tile each.
    const std::int64_t clusters =
        std::max(1, device.sm_count * p.min_blocks / cluster(p));  // the clusters that take turns
    gemm.grid.x = p.reduce == 1 ? turns : cluster(p) * std::clamp<std::int64_t>(turns, 1, clusters);
    gemm.block.x = threads(p);
    gemm.cluster.x = p.reduce == 1 ? p.split : cluster(p);
    gemm.takes_turns = p.reduce == 0;
    gemm.smem_bytes = shared_bytes(problem, p, device);
    const int lines_a = a_along_k(problem, p) ? p.bm : bk(problem);
    const int lines_b = b_along_k(problem, p) ? p.bn : bk(problem);
    const Arg map_a = add_map(plan, "A", problem, a, line_a(problem, p), lines_a / p.cluster_n, p.fetch);
    const Arg map_b = add_map(plan, "B", problem, b, line_b(problem, p), lines_b / p.cluster_m, p.fetch);
    gemm.args = result_arguments();
    gemm.pass({partial, Arg::number(p.split).as("parts")});
    gemm.pass({k_tiles_of_part(problem, p.split * p.own_parts, bk(problem)),
               Arg::number(lets_in_late(problem, p, device, gemm.grid.x)).as("is_late"),
               Arg::number(prefetched_stages(problem, p, device, gemm.grid.x)).as("prefetched")});
    gemm.pass({logarithm(p.cluster_m).as("cluster_m_log2"), logarithm(p.cluster_n).as("cluster_n_log2"),
               Arg::number(tiles_m).as("tiles_m"), Arg::number(tiles_n).as("tiles_n")});
    gemm.pass({logarithm(p.group).as("group_log2"),
               reciprocal(std::min<std::int64_t>(p.group, tiles_m) * tiles_n).as("band_reciprocal"),
               reciprocal(tiles_m - (tiles_m - 1) / p.group * p.group).as("last_reciprocal")});
    gemm.pass({map_a.as("map_a"), map_b.as("map_b"), map_of_c(plan, problem, line_c(problem, p), map_a).as("map_c")});
    return gemm;
  }

  /// The binary logarithm of a power of two.
  static Arg logarithm(int power) { return Arg::number(std::countr_zero(static_cast<unsigned>(power))); }

  /// The reciprocal in 2^-32, rounded down; of what there is none of, any.
  static Arg reciprocal(std::int64_t number) {
    return Arg::number(std::numeric_limits<std::uint32_t>::max() / std::max<std::int64_t>(1, number));
  }

  /// Boxes one line wide, of the `lines` that a block fetches, or of half of them.
  static Arg add_map(LaunchPlan& plan, std::string_view name, const Problem& problem, const Input& input,
                     int line_bytes, int lines, int fetch_bytes) {
    return plan.add_map(
        {.name = name,
         .base = input.matrix.address,
         .format = problem.precision == Precision::tf32 ? MapFormat::tf32 : bits_format(input.element_bytes),
         .dimensions = {{input.shape.columns, line_bytes / input.element_bytes},
                        {input.shape.rows, lines > kMostBox ? lines / 2 : lines, input.row}},
         .swizzle_bytes = line_bytes,
         .l2_promotion_bytes = fetch_bytes});
  }

  static std::span<const Proven> proven() { return proven_wgmma(); }

  static Params default_params(const Problem& problem) {
    Params p;
    p.swap = traits(problem.precision).a.bytes == 4 && !transposes_b(problem.layout) ? 1 : 0;
    const bool copies = std::min(problem.align.a, problem.align.b) < 16 || turns_a(problem, p) || turns_b(problem, p);
    p.pack = copies ? 1 : 0;
    p.own_parts = problem.invariant && multiplies(problem.precision) ? invariant_parts(problem, 90) : 1;
    return p;
  }
};

}  // namespace

MMTUNE_FAMILY(wgmma, Wgmma)

}  // namespace mmtune
