// Hopper's tensor cores, fed by the tensor memory accelerator; see kernel.cu for the picture.
#include <algorithm>
#include <utility>

#include "templates/families/wgmma/proven.h"
#include "templates/families/wgmma/shape.h"
#include "templates/family/families.h"
#include "templates/family/split_k.h"
#include "templates/family/stored_boxes.h"
#include "templates/family/stream_k.h"
#include "templates/model/numbers.h"
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
  static constexpr int kLeastStages = 3;
  static constexpr int kLeastGroup = 4;   ///< the fewest rows of tiles that are walked together, but one
  static constexpr int kMidGroup = 16;    ///< the most rows of tiles that are walked together whatever they weigh
  static constexpr int kFewSteps = 16;    ///< the steps of a call so short that the next one should begin beside it
  static constexpr int kManySteps = 32;   ///< the steps of a call that may gain where the next one begins late
  static constexpr int kMostSums = 192;   ///< the registers of sums that leave enough for everything else
  static constexpr int kMostParts = 256;  ///< the same with those of parts before, of which some may spill
  static constexpr int kWideFetch = 256;  ///< the bytes that L2 fetches at once, where rows begin at multiples of them
  static constexpr int kPackThreads = 256;
  static constexpr int kPackTile = 64;   ///< the rows and columns that a block of pack() transposes
  static constexpr int kUnitBytes = 16;  ///< the bytes that a thread of pack() copies at once, but where it transposes

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM",
         &Params::bm,
         {16, 32, 48, 64, 80, 88, 96, 104, 112, 128, 136, 144, 152, 160, 168, 176, 192, 208, 224, 256, 320},
         "rows of C per tile"},
        {"BN",
         &Params::bn,
         {24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 128, 136, 144, 152, 160, 168, 176, 192, 208, 224, 256, 320},
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
        {"STREAM", &Params::stream, {0, 1}, "1: resident blocks share the tiles that fill no wave"},
        {"MIN_BLOCKS", &Params::min_blocks, {1, 2}, "blocks that share an SM, which the program leaves room for"},
        {"OWN_PARTS", &Params::own_parts, {1, 2}, "parts of k that a block adds up one after the other"},
        {"LATE", &Params::late, {0, 1}, "1: the next call is let in after the last results, not before them"},
    };
    return rows;
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(compute_capability(device) == 90, "wgmma needs compute capability 9.0");
    rules.must(multiplies(problem.precision), "wgmma multiplies 16-bit, 8-bit and tf32 elements");
    rules.must(std::max({problem.m, problem.n, problem.k}) < (std::int64_t{1} << 31) - 1024,
               "coordinates of the accelerator have 32 bits");
    tile_rules(problem, p, device, rules);
    if (!rules.ok()) return;
    rules.must(packs_a(problem, p) || problem.align.a == 16, "TMA needs A aligned to 16 bytes, or a copy");
    rules.must(packs_b(problem, p) || problem.align.b == 16, "TMA needs B aligned to 16 bytes, or a copy");
    rules.must(packs_a(problem, p) || !turns_a(problem, p), "A lies along k, is rows of 32 bits, or is copied");
    rules.must(packs_b(problem, p) || !turns_b(problem, p), "B lies along k, is rows of 32 bits, or is copied");
    rules.must(p.pack == 0 || packs_a(problem, p) || packs_b(problem, p), "PACK needs an operand that gains by it");
    size_rules(problem, p, device, rules);
  }

  static void tile_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const PrecisionTraits& types = traits(problem.precision);
    rules.must(p.pingpong == 0 || p.consumers == 2, "PINGPONG takes two consumers");
    rules.must(columns(p) % (types.accumulator.integer ? 16 : 8) == 0,
               "an instruction's columns are a multiple of 8, of integers of 16");
    rules.must(rows(p) % (kFragment * (p.pingpong == 1 ? 1 : p.consumers)) == 0 ||
                   (p.swap == 1 && p.consumers == 1 && p.stream == 0 && b_along_k(problem, p)),
               "a consumer has whole fragments, or where it is the only one columns of C that lie along k");
    // A tile that is contiguous along m or n consists of whole lines, of as many bytes as a swizzle has.
    rules.must(is_swizzle(line_a(problem, p)), "lines along m are whole");
    rules.must(is_swizzle(line_b(problem, p)), "lines along n are whole");
    rules.must(p.bm % p.cluster_n == 0 && p.bn % p.cluster_m == 0, "blocks share whole lines");
    if (!rules.ok()) return;
    const bool is_turned = p.swap == 1 && consumer_rows(p) > kFragment;
    const bool takes_turns = rows_from_registers(problem, p) && p.pingpong == 1;
    rules.must(p.min_blocks == 1 || (p.consumers < 3 && p.pingpong == 0 && p.stream == 0),
               "blocks that share an SM have at most two consumers, without PINGPONG and STREAM");
    const int most = p.consumers == 3                        ? 96
                     : p.min_blocks == 2 && p.consumers == 2 ? 48
                     : p.min_blocks == 2                     ? 128
                     : is_turned                             ? 152
                     : takes_turns                           ? 160
                                                             : kMostSums;
    rules.must(sum_registers(problem, p) <= most, "a thread has registers for its sums");
    const int instruction_sums = sums(p) / fragments(p);
    rules.must(p.min_blocks == 1 || instruction_sums + kBesideSums <= registers_at_first(p, device),
               "blocks that share an SM begin with registers for an instruction");
    const int most_parts = p.min_blocks == 2 ? most : p.consumers == 3 ? 160 : kMostParts;
    rules.must(p.own_parts == 1 || part_registers(problem, p) <= most_parts,
               "a thread has registers for most of the sums of OWN_PARTS");
    // The compiler lets no other multiplications follow each other.
    rules.must(!rows_from_registers(problem, p) || (consumer_rows(p) == kFragment && p.reduce == 0),
               "rows from registers are one fragment of a consumer, whose sums it stores");
    rules.must(stages(p, device) >= kLeastStages, "shared memory holds three stages");
    rules.must(cluster(p) <= device.max_cluster_size, "the device allows clusters of that size");
    rules.must(p.reduce == 0 || (p.split > 1 && p.split <= device.max_cluster_size),
               "REDUCE over a cluster needs SPLIT blocks in a cluster");
    rules.must(p.reduce == 0 || (cluster(p) == 1 && p.pingpong == 0),
               "blocks that add a tile's parts share no operands and no turns");
    rules.must(p.stream == 0 || (p.split == 1 && cluster(p) == 1 && p.pingpong == 0),
               "STREAM shares tiles itself, without SPLIT, clusters and PINGPONG");
    rules.must(p.own_parts == 1 || (p.split == 1 && p.stream == 0 && !promotes(problem)),
               "OWN_PARTS are all of a tile's k, whose sums are not promoted");
  }

  static void size_rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
    rules.worth(p.bm <= kFragment || problem.m > p.bm / 2, "a tile is not twice as high as C");
    rules.worth(p.bn <= kFragment || problem.n > p.bn / 2, "a tile is not twice as wide as C");
    rules.worth(p.bm >= kFragment || problem.m <= 2 * p.bm || tiles_of_c(problem, p.bm, p.bn) <= device.sm_count,
                "tiles of few rows are for few rows of C, or few tiles");
    rules.worth(p.bn >= kFragment || problem.n <= 2 * p.bn || tiles_of_c(problem, p.bm, p.bn) <= device.sm_count,
                "tiles of few columns are for few columns of C, or few tiles");
    rules.worth(p.consumers > 1 || sums(p) <= 96, "one consumer is for small tiles");
    rules.worth(p.cluster_m == 1 || problem.m > p.bm * (p.cluster_m / 2), "clusters have a tile for every block");
    rules.worth(p.cluster_n == 1 || problem.n > p.bn * (p.cluster_n / 2), "clusters have a tile for every block");
    rules.worth(cluster(p) <= 8, "clusters have at most eight blocks");
    const std::int64_t rows_of_tiles = ceil_div(problem.m, p.bm * p.cluster_m);
    rules.worth(p.group == 1 || rows_of_tiles > p.group / 2 || (p.group == kLeastGroup && rows_of_tiles > 1),
                "GROUP is at most the rows of tiles");
    const std::int64_t walked = problem.k * p.group * p.bm * traits(problem.precision).a.bytes;
    rules.worth(p.group <= kMidGroup || walked <= device.l2_bytes / 2,
                "many rows of tiles are walked where L2 holds them");
    rules.worth(p.split == 1 || tiles * (p.split / 2) < device.sm_count, "SPLIT is for few tiles");
    const std::int64_t steps = ceil_div(problem.k, bk(problem));
    rules.worth(p.split == 1 || steps >= 2 * p.split, "every part has at least two steps");
    split_rule(rules, p.split, tiles, device.sm_count);
    rules.worth(p.pingpong == 0 || tiles > device.sm_count, "PINGPONG is for more tiles than SMs");
    const bool is_short = std::min(problem.m, problem.n) <= kFragment || steps <= kFewSteps * p.split;
    rules.worth(p.min_blocks == 1 || tiles * p.split > device.sm_count || is_short,
                "blocks share an SM where they outnumber SMs, or where products are short");
    rules.worth(p.stream == 0 || tiles % device.sm_count != 0, "STREAM shares tiles that fill no wave");
    rules.worth(p.own_parts == 1 || problem.invariant, "OWN_PARTS are for invariant products");
    const bool is_one_wave =
        tiles <= device.sm_count && steps >= kManySteps && std::min(problem.m, problem.n) > 2 * kFragment;
    rules.worth(p.late == 0 || (is_one_wave && cluster(p) == 1 && !is_followed_early(p)),
                "LATE is for one wave of tiles with many steps that share nothing");
  }

  static Summation summation(const Problem& problem, const Params& p, const DeviceSpec& device) {
    Summation summation = tensor_summation(problem.precision, device, true);
    summation.part = summed_part(problem, p.split * p.own_parts, bk(problem));
    if (p.stream == 1) summation.adder = Summation::Adder::other;
    return summation;
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchPlan plan;
    plan.constants = constants(problem, p, device);
    plan.needs = {packs_a(problem, p) ? problem.align.a : 16, packs_b(problem, p) ? problem.align.b : 16,
                  problem.align.c};
    const Input a = input(plan, problem, p, Operand::a);
    const Input b = input(plan, problem, p, Operand::b);
    const std::int64_t sharers = p.stream == 1 ? device.sm_count : 0;
    const std::int64_t tile_bytes =
        static_cast<std::int64_t>(p.bm) * p.bn * traits(problem.precision).accumulator.bytes;
    const SharedSums shared = add_shared_sums(plan, sharers, tile_bytes, p.consumers);
    if (p.pack == 1) {
      plan.steps.push_back(pack_step(problem, p, a, b, shared.flags));
    } else if (p.stream == 1) {
      plan.steps.push_back(prepare_step(shared.flags));
    }
    const int parts = p.reduce == 1 ? 1 : p.split;  // the parts whose sums a step adds
    const Arg partial = add_partial_sums(plan, problem, parts);
    plan.steps.push_back(gemm_step(plan, problem, p, device, a, b, partial, shared));
    add_reduce_step(plan, problem, partial, parts);
    overlap_steps(plan, device);
    plan.may_spill = p.own_parts > 1;  // What spills is used at the ends of parts alone.
    plan.work = estimate(problem, p, device);
    plan.work.kept_bytes = shared.kept_bytes;
    return plan;
  }

  static std::vector<Constant> constants(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    return {{"STAGES", stages(p, device)},
            {"STORE_BUFFERS", store_buffers(p, device)},
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
            {"BLOCKS", p.stream == 1 ? device.sm_count : 0},
            {"LATE", !is_followed_early(p)},
            {"MOVES_REGISTERS", moves_registers(p)},
            {"PRODUCER_REGISTERS", producer_registers(problem, p)},
            {"CONSUMER_REGISTERS", consumer_registers(problem, p, device)},
            {"PACK_THREADS", kPackThreads},
            {"PACK_TILE", kPackTile},
            {"PACK_SMEM_BYTES", pack_bytes(problem, p)},
            {"PREPARE_THREADS", kPrepareThreads},
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
    const std::int64_t row_bytes = ceil_div(std::max<std::int64_t>(1, shape.columns) * bytes, kLine) * kLine;
    const Arg copy = plan.workspace.add(is_a ? "copy of A" : "copy of B", shape.rows * row_bytes);
    return {shape, bytes, true, turns, {copy, Arg::number(row_bytes / bytes)}, {.bytes = row_bytes}};
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

  static LaunchStep pack_step(const Problem& problem, const Params& p, const Input& a, const Input& b, Arg flags) {
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
                 Arg::number(pack_blocks(b)).as("blocks_b"),
                 flags};
    return pack;
  }

  static LaunchStep gemm_step(LaunchPlan& plan, const Problem& problem, const Params& p, const DeviceSpec& device,
                              const Input& a, const Input& b, Arg partial, const SharedSums& shared) {
    const std::int64_t turns =
        ceil_div(ceil_div(problem.m, p.bm), p.cluster_m) * ceil_div(ceil_div(problem.n, p.bn), p.cluster_n) * p.split;
    LaunchStep gemm;
    // Blocks that add parts have one tile each; those that share tiles are as many as the GPU holds.
    const std::int64_t clusters =
        std::max(1, device.sm_count * p.min_blocks / cluster(p));  // the clusters that take turns
    gemm.grid.x = p.reduce == 1   ? turns
                  : p.stream == 1 ? device.sm_count
                                  : cluster(p) * std::clamp<std::int64_t>(turns, 1, clusters);
    gemm.resident = p.stream == 1;
    gemm.block.x = threads(p);
    gemm.cluster.x = p.reduce == 1 ? p.split : cluster(p);
    gemm.takes_turns = p.reduce == 0 && p.stream == 0;
    gemm.smem_bytes = shared_bytes(p, device);
    const int lines_a = a_along_k(problem, p) ? p.bm : bk(problem);
    const int lines_b = b_along_k(problem, p) ? p.bn : bk(problem);
    const Arg map_a = add_map(plan, "A", problem, a, line_a(problem, p), lines_a / p.cluster_n);
    const Arg map_b = add_map(plan, "B", problem, b, line_b(problem, p), lines_b / p.cluster_m);
    gemm.args = {Arg::extent(Extent::m),
                 Arg::extent(Extent::n),
                 Arg::extent(Extent::k),
                 Arg::scalar(Scalar::alpha),
                 Arg::scalar(Scalar::beta),
                 Arg::operand(Operand::c),
                 Arg::ld(Operand::c),
                 partial,
                 map_a.as("map_a"),
                 map_b.as("map_b"),
                 map_of_c(plan, problem, line_c(problem, p), map_a).as("map_c"),
                 shared.tiles.as("handed"),
                 shared.flags,
                 Arg::number(p.split).as("parts"),
                 k_tiles_of_part(problem, p.split * p.own_parts, bk(problem)),
                 Arg::number(p.late).as("is_late"),
                 Arg::number(prefetched_stages(problem, p, device, gemm.grid.x)).as("prefetched")};
    return gemm;
  }

  /// The stages that each of so many blocks may prefetch before the call before has ended: what memory brings while
  /// that one's last blocks end. Blocks that begin beside all of those take from what they fetch, unless that is
  /// little. Measured: docs/lab/2026-11-26-prefetch.md.
  static std::int64_t prefetched_stages(const Problem& problem, const Params& p, const DeviceSpec& device,
                                        std::int64_t blocks) {
    const ModelNumbers& numbers = model_numbers(device);
    const double bytes_per_us = device.memory_bandwidth_gb_s * 1000;
    const double bytes =
        static_cast<double>(problem.m + problem.n) * static_cast<double>(problem.k) * traits(problem.precision).a.bytes;
    const bool is_beside = p.min_blocks > 1 && blocks <= device.sm_count;
    if (is_beside && bytes > numbers.short_call_us * bytes_per_us) return 0;
    const std::int64_t share = (p.bm / p.cluster_n + p.bn / p.cluster_m) * kLine;  // a block's of a stage
    const double most = numbers.memory_idle_us * bytes_per_us / static_cast<double>(blocks * share);
    return std::min<std::int64_t>(kMostStages, static_cast<std::int64_t>(most));
  }

  /// Boxes one line wide, of the `lines` that a block fetches, or of half of them. Where rows begin between wide
  /// fetches into L2, those would bring bytes of other tiles.
  static Arg add_map(LaunchPlan& plan, std::string_view name, const Problem& problem, const Input& input,
                     int line_bytes, int lines) {
    return plan.add_map(
        {.name = name,
         .base = input.matrix.address,
         .format = problem.precision == Precision::tf32 ? MapFormat::tf32 : bits_format(input.element_bytes),
         .dimensions = {{input.shape.columns, line_bytes / input.element_bytes},
                        {input.shape.rows, lines > kMostBox ? lines / 2 : lines, input.row}},
         .swizzle_bytes = line_bytes,
         .l2_promotion_bytes = input.shape.columns * input.element_bytes % kWideFetch == 0 ? kWideFetch : kLine});
  }

  static std::span<const Proven> proven() { return kProvenWgmma; }

  static Params default_params(const Problem& problem) {
    Params p;
    p.swap = traits(problem.precision).a.bytes == 4 && !transposes_b(problem.layout) ? 1 : 0;
    const bool copies = std::min(problem.align.a, problem.align.b) < 16 || turns_a(problem, p) || turns_b(problem, p);
    p.pack = copies ? 1 : 0;
    p.own_parts = problem.invariant && multiplies(problem.precision) ? invariant_parts(problem, 90) : 1;
    return p;
  }

  /// The issue slots of a multiply-add where each stage's sums are added to others in registers: a consumer does that
  /// while the other consumers of its SM multiply, and where it takes longer nothing is multiplied.
  static double promoting_slots(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const ModelNumbers& numbers = model_numbers(device);
    const double stage = static_cast<double>(p.bm) * p.bn * bk(problem);
    const double multiplied = stage / fma_per_clock_per_sm(device, traits(problem.precision).unit);
    const double added = numbers.wgmma_promotion_clocks * sums(p);
    const double turn = p.pingpong == 1 ? (multiplied + added) / 2 : (multiplied / p.consumers + added) / p.min_blocks;
    const double issue = device.warp_size * numbers.schedulers * numbers.issues;
    return std::max(multiplied, turn) * issue / stage;
  }

  /// Results are stored by whole slices, one line of columns wide, or where SWAP = 1 by whole boxes of rows: what the
  /// last one has in common with the one before is stored twice.
  static double stored_share(const Problem& problem, const Params& p) {
    const int extent = p.swap == 1 ? p.bm : p.bn;
    const int step = p.swap == 1 ? kStoredBoxRows : line_c(problem, p) / traits(problem.precision).c.bytes;
    return static_cast<double>(ceil_div(extent, step) * step) / extent;
  }

  static WorkEstimate estimate(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    const ModelNumbers& numbers = model_numbers(device);
    WorkEstimate work;
    work.unit = types.unit;
    work.issue_slots_per_fma = promotes(problem) ? promoting_slots(problem, p, device) : numbers.wgmma_issue_slots;
    const double bytes_a = static_cast<double>(p.bm) / p.cluster_n * types.a.bytes;
    const double bytes_b = static_cast<double>(p.bn) / p.cluster_m * types.b.bytes;
    work.bytes_per_k = bytes_a + bytes_b;
    work.in_place_a = packs_a(problem, p) ? 0 : bytes_a;
    work.in_place_b = packs_b(problem, p) ? 0 : bytes_b;
    // An instruction reads the steps of 64 rows and of its columns, which the accelerator has written.
    const double width = std::min(columns(p), 256);
    work.smem_bytes_per_fma = types.a.bytes / width + types.b.bytes / static_cast<double>(kFragment) +
                              static_cast<double>(types.a.bytes) / p.bn + static_cast<double>(types.b.bytes) / p.bm;
    work.persistent = p.reduce == 0 && p.stream == 0;
    work.shares_last_wave = p.stream == 1;
    work.tile_m = p.bm;
    work.tile_n = p.bn;
    work.tile_k = bk(problem);
    work.k_lanes = bk(problem);  // The sums wait for no instruction of the same stage.
    work.fetch = Fetch::accelerator;
    work.copies_first = p.pack == 1;
    work.cluster_m = p.cluster_m;
    work.cluster_n = p.cluster_n;
    work.hides_stores = p.pingpong == 1;
    work.stored_share = p.split == 1 ? stored_share(problem, p) : 1;
    work.turns_results = p.swap == 1;
    work.split_k = p.split;
    work.group = p.group;
    const int own_sums = (p.own_parts > 1 ? 2 : 1) * sums(p);
    work.registers = moves_registers(p) ? registers_at_first(p, device) : own_sums + whole(numbers.wgmma_registers);
    work.bytes_in_flight = (stages(p, device) - 1) * stage_bytes(p);
    return work;
  }
};

}  // namespace

MMTUNE_FAMILY(wgmma, Wgmma)

}  // namespace mmtune
