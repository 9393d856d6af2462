// The register-tiled family that competes on CUDA cores; see kernel.cu for the picture.
#include <algorithm>
#include <utility>

#include "templates/dtype.h"
#include "templates/families.h"
#include "templates/families/simt/proven.h"
#include "templates/tiling.h"

namespace mmtune {
namespace {

struct Simt {
  struct Params {
    Param bm{64}, bn{64}, bk{8}, tm{8}, tn{4}, lanes_n{8}, load{0}, stages{2}, unroll{8}, order{1}, group{8},
        min_blocks{1}, split{1}, reduce{0}, pack{0}, stream{0};
  };

  static constexpr std::string_view kName = "simt";
  static constexpr std::string_view kSummary =
      "block, warp and thread tiles on CUDA cores; copies through registers, by cp.async or by TMA; split-K, stream-K";

  /// Steps along k that STREAM sums in one go at most; a multiple of every BK. The error of a sum grows with the square
  /// root of its length, so that s slices leave 1/sqrt(s) of it; each costs a pass of the tile through L2.
  static constexpr int kSlice = 1024;

  static constexpr double kRegisterMargin = 12;  ///< by which wanted_registers() may be short

  /// Issue slots that things cost the multiply-adds beside them, set by hand to lie near measured times (as those of
  /// templates/cost.cpp).
  static constexpr double kFragmentLoad = 2.5;  ///< of a load from shared memory
  static constexpr double kTransposed = 9;      ///< of an element that is transposed on its way to shared memory
  static constexpr double kTile = 20;           ///< of a tile
  static constexpr double kRound = 50;          ///< of UNROLL steps along k: addresses, and the branch back

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM", &Params::bm, {32, 64, 96, 128, 192, 256}, "rows of C per block"},
        {"BN", &Params::bn, {32, 64, 96, 128, 192, 256}, "columns of C per block"},
        {"BK", &Params::bk, {8, 16, 32}, "steps along k per stage"},
        {"TM", &Params::tm, {2, 4, 8, 16}, "rows of C per thread"},
        {"TN", &Params::tn, {2, 4, 8, 16}, "columns of C per thread"},
        {"LANES_N", &Params::lanes_n, {4, 8}, "threads of a warp along the columns"},
        {"LOAD", &Params::load, {0, 1, 2}, "copies of an operand not contiguous along k: registers, cp.async, TMA"},
        {"STAGES", &Params::stages, {2, 3, 4}, "tiles of A and B in shared memory"},
        {"UNROLL", &Params::unroll, {8, 16}, "steps along k per round of unrolled code"},
        {"ORDER", &Params::order, {0, 1, 2}, "multiply-adds of a thread: 0 by rows, 1 serpentine, 2 by columns"},
        {"GROUP", &Params::group, {1, 8}, "block rows walked together, for reuse in L2"},
        {"MIN_BLOCKS", &Params::min_blocks, {1, 2, 3, 4}, "blocks per SM that the registers must allow"},
        {"PACK", &Params::pack, {0, 1}, "1: operands along k or not aligned are first copied to the workspace"},
        {"SPLIT", &Params::split, {1, 2, 4, 8, 16, 32}, "blocks that share one tile's k"},
        {"REDUCE", &Params::reduce, {0, 1}, "sums of a split tile: 0 in a second kernel, 1 over a cluster"},
        {"STREAM", &Params::stream, {0, 1}, "1: resident blocks take tiles in turn and share those of the last wave"},
    };
    return rows;
  }

  static int threads(const Params& p) { return (p.bm / p.tm) * (p.bn / p.tn); }
  static bool packs_a(const Problem& problem, const Params& p) {
    return p.pack == 1 && (!transposes_a(problem.layout) || problem.align.a < 16);
  }
  static bool packs_b(const Problem& problem, const Params& p) {
    return p.pack == 1 && (transposes_b(problem.layout) || problem.align.b < 16);
  }
  /// Whether the main loop finds the operand contiguous along k.
  static bool a_along_k(const Problem& problem, const Params& p) {
    return !transposes_a(problem.layout) && !packs_a(problem, p);
  }
  static bool b_along_k(const Problem& problem, const Params& p) {
    return transposes_b(problem.layout) && !packs_b(problem, p);
  }

  /// Steps along k that are summed in one go without STREAM or SPLIT. cuBLAS takes 2048 and more of aligned operands,
  /// but far fewer of others; its error is the yardstick.
  static std::int64_t longest_sum(const Problem& problem) {
    return std::min(problem.align.a, problem.align.b) == 16 ? 2 * kSlice : kSlice;
  }

  /// Blocks that the GPU holds at once; what STREAM launches.
  static std::int64_t resident_blocks(const Params& p, const DeviceSpec& device) {
    return static_cast<std::int64_t>(p.min_blocks) * device.sm_count;
  }
  static std::int64_t tile_bytes(const Problem& problem, const Params& p) {
    return static_cast<std::int64_t>(p.bm) * p.bn * traits(problem.precision).accumulator.bytes;
  }

  /// Elements one instruction moves: as many as the operand's alignment allows, but no more than the shortest BK, along
  /// which they may lie.
  static int vector_width(int align_bytes, const FormatTraits& format) {
    return std::clamp(align_bytes / format.bytes, 1, 8);
  }

  static int shared_bytes(const Problem& problem, const Params& p) {
    const int bytes = traits(problem.precision).accumulator.bytes;
    const auto rounded = [](int size) { return (size + 127) / 128 * 128; };
    const int pad = 16 / bytes;
    const int stages = rounded(p.stages * p.bk * (p.bm + (a_along_k(problem, p) ? pad : 0)) * bytes) +
                       rounded(p.stages * p.bk * (p.bn + (b_along_k(problem, p) ? pad : 0)) * bytes);
    const int partial = p.split > 1 && p.reduce == 1 ? p.bm * p.bn * bytes : 0;
    return std::max(stages, partial) + rounded(8 * p.stages);
  }

  static bool shared_memory_allows(const Problem& problem, const Params& p, const DeviceSpec& device, int blocks) {
    return (shared_bytes(problem, p) + device.smem_reserved_per_block) * blocks <= device.smem_per_sm;
  }

  /// Rows and columns of a stage that pass through registers.
  static int staged_extent(const Problem& problem, const Params& p) {
    return (p.load == 0 || a_along_k(problem, p) ? p.bm : 0) + (p.load == 0 || b_along_k(problem, p) ? p.bn : 0);
  }

  /// Sums, two fragments, staged vectors, addresses; fitted to what ptxas reports for this kernel.
  static int registers(const Problem& problem, const Params& p) {
    const int words = accumulator_registers(problem);
    const int staged = staged_extent(problem, p) * p.bk * words / threads(p);
    return words * (p.tm * p.tn + 2 * (p.tm + p.tn)) + staged + 36;
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const int words = accumulator_registers(problem);
    rules.must(p.bm % (p.tm * (32 / p.lanes_n)) == 0, "a warp's rows divide BM");
    rules.must(p.bn % (p.tn * p.lanes_n) == 0, "a warp's columns divide BN");
    if (!rules.ok()) return;
    const int block = threads(p);
    rules.must(block >= 64 && block <= 512, "64 to 512 threads per block");
    rules.must(p.tm * p.tn >= 8 && words * p.tm * p.tn <= 128, "8 to 128 registers of sums per thread");
    rules.must(p.bk % p.unroll == 0, "UNROLL divides BK");
    rules.must(p.load > 0 || p.stages == 2, "copies through registers use two stages");
    rules.must(p.load == 0 || multiplied_as_stored(problem), "cp.async and TMA cannot widen elements on the way");
    rules.must(p.load != 1 || compute_capability(device) >= 80, "cp.async needs compute capability 8.0");
    rules.must(p.load != 2 || compute_capability(device) >= 90, "TMA needs compute capability 9.0");
    rules.must(p.pack == 0 || packs_a(problem, p) || packs_b(problem, p), "PACK needs an operand that gains by it");
    rules.worth(p.pack == 0 || (p.load > 0 && std::min(problem.m, problem.n) >= 256),
                "PACK pays where both m and n are large and copies are asynchronous");
    rules.must(p.load == 0 || !a_along_k(problem, p) || !b_along_k(problem, p),
               "operands contiguous along k pass through registers");
    rules.must(p.load != 2 || a_along_k(problem, p) || packs_a(problem, p) || problem.align.a == 16,
               "TMA needs A aligned to 16 bytes");
    rules.must(p.load != 2 || b_along_k(problem, p) || packs_b(problem, p) || problem.align.b == 16,
               "TMA needs B aligned to 16 bytes");
    const int need = registers(problem, p);
    rules.must(need <= 255, "expected registers fit a thread");
    rules.must(need * block * p.min_blocks <= device.max_registers_per_sm, "registers allow MIN_BLOCKS blocks per SM");
    rules.worth(p.min_blocks == 4 || need * block * 2 * (p.min_blocks + 1) > device.max_registers_per_sm,
                "MIN_BLOCKS uses at least half of the registers");
    // With room for one block more than MIN_BLOCKS says, the compiler makes the same program.
    const double wanted = wanted_registers(problem, p) + kRegisterMargin;
    rules.worth(p.stream == 1 || p.min_blocks == 4 ||
                    wanted * block * (p.min_blocks + 1) > device.max_registers_per_sm ||
                    !shared_memory_allows(problem, p, device, p.min_blocks + 1),
                "MIN_BLOCKS limits the registers");
    rules.worth(p.order > 0 || p.tm * p.tn < 64, "large thread tiles turn at the end of a row");
    rules.worth(staged_extent(problem, p) * p.bk / block * words <= 48,
                "at most 48 registers of staged elements per thread");
    const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
    rules.worth(tiles < 2 * device.sm_count || p.split == 1, "SPLIT is for fewer tiles than two per SM");
    rules.worth(p.split == 1 || ceil_div(problem.k, p.bk) >= 2 * p.split, "every split has at least two tiles of k");
    rules.worth(p.split <= 8 || tiles * 8 < device.sm_count, "more than 8 splits are for very few tiles");
    rules.must(p.reduce == 0 || (p.split > 1 && p.split <= device.max_cluster_size),
               "REDUCE over a cluster needs SPLIT blocks in a cluster");
    rules.must(p.reduce == 0 || p.split <= p.tm * p.tn, "REDUCE over a cluster gives each block sums to finish");
    rules.must(p.stream == 0 || p.split == 1, "STREAM shares tiles itself and needs no SPLIT");
    const bool streams = compute_capability(device) >= 70;
    rules.must(p.stream == 0 || streams, "STREAM's flags need compute capability 7.0");
    rules.worth(p.stream == 1 || !streams || traits(problem.precision).accumulator.integer ||
                    problem.k <= longest_sum(problem) * p.split,
                "long sums are taken in slices, as STREAM and SPLIT do");
    rules.must(p.stream == 0 || shared_memory_allows(problem, p, device, p.min_blocks),
               "STREAM needs MIN_BLOCKS blocks per SM at once");
    rules.worth(shared_memory_allows(problem, p, device, p.min_blocks),
                "shared memory allows MIN_BLOCKS blocks per SM");
    const std::int64_t rows = ceil_div(problem.m, p.bm);  // with more than two no GROUP is too large
    rules.worth(rows > 2 || p.group < 4 * rows, "GROUP is below four times the rows of tiles");
    rules.worth(p.group > 1 || rows <= 2 || tiles < device.sm_count, "GROUP lets neighbours share what L2 holds");
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    const std::int64_t tiles = tiles_of_c(problem, p.bm, p.bn);
    LaunchPlan plan;
    plan.steps.reserve(3);
    plan.constants = {{"VA", vector_width(problem.align.a, types.a)},
                      {"VB", vector_width(problem.align.b, types.b)},
                      {"VC", vector_width(problem.align.c, types.c)},
                      {"BLOCKS", p.stream == 1 ? static_cast<int>(resident_blocks(p, device)) : 0},
                      {"SLICE", kSlice}};
    plan.needs = problem.align;

    const PackedOperand packed_a = packed(packs_a(problem, p), types.a, problem.k, problem.m, 0);
    const PackedOperand packed_b =
        packed(packs_b(problem, p), types.b, problem.k, problem.n, packed_bytes(types.a, packed_a));
    plan.workspace_bytes = packed_b.offset_bytes + packed_bytes(types.b, packed_b);
    if (p.pack == 1) {
      LaunchStep pack;
      pack.kernel = "pack";
      pack.grid.x = std::max<std::int64_t>(
          1, ceil_div(problem.k, 32) * (ceil_div(packed_a.columns, 32) + ceil_div(packed_b.columns, 32)));
      pack.block.x = 256;
      pack.smem_bytes = 32 * 33 * std::max(types.a.bytes, types.b.bytes);  // one tile, its rows spread over the banks
      pack.args = {Arg::m, Arg::n, Arg::k, Arg::a, Arg::lda, Arg::b, Arg::ldb, Arg::workspace};
      plan.steps.push_back(std::move(pack));
    }

    if (p.pack == 0 && p.stream == 1) {
      LaunchStep prepare;
      prepare.kernel = "prepare";
      prepare.block.x = 256;
      prepare.args = {Arg::m, Arg::n, Arg::k, Arg::workspace};
      plan.steps.push_back(std::move(prepare));
    }

    LaunchStep gemm;
    gemm.grid.x = p.stream == 1 ? resident_blocks(p, device) : tiles * p.split;
    gemm.resident = p.stream == 1;
    gemm.block.x = threads(p);
    gemm.smem_bytes = shared_bytes(problem, p);
    gemm.args = blas_arguments();
    gemm.args.push_back(Arg::workspace);
    if (p.load == 2) {
      plan.map_a = {p.bk, p.bm, 0, packed_a};
      plan.map_b = {p.bk, p.bn, 0, packed_b};
      // An operand that passes through registers gets the other's map and does not look at it.
      gemm.kernel = "gemm_tma";
      gemm.args.push_back(a_along_k(problem, p) ? Arg::map_b : Arg::map_a);
      gemm.args.push_back(b_along_k(problem, p) ? Arg::map_a : Arg::map_b);
    }
    if (p.reduce == 1) gemm.cluster = p.split;
    plan.steps.push_back(std::move(gemm));

    if (p.split > 1 && p.reduce == 0) {
      plan.workspace_bytes += p.split * problem.m * problem.n * types.accumulator.bytes;
      LaunchStep reduce;
      reduce.kernel = "reduce";
      reduce.grid.x = ceil_div(problem.m * problem.n, 256);
      reduce.block.x = 256;
      reduce.args = {Arg::m, Arg::n, Arg::k, Arg::alpha, Arg::beta, Arg::c, Arg::ldc, Arg::workspace};
      plan.steps.push_back(std::move(reduce));
    }
    overlap_steps(plan, device);
    plan.work = estimate(problem, p, device);
    if (p.stream == 1) {
      // For every block the sums of slices and the sums it hands over, then a flag: as struct Workspace has it.
      plan.work.kept_bytes = resident_blocks(p, device) * (2 * tile_bytes(problem, p) + 4);
      plan.workspace_bytes += plan.work.kept_bytes;
    }
    return plan;
  }

  /// The copy [k][extent] with rows of whole vectors, as struct Workspace in kernel.cu has it.
  static PackedOperand packed(bool packs, const FormatTraits& format, std::int64_t k, std::int64_t extent,
                              std::int64_t offset) {
    if (!packs) return {offset, 0, 0, 0};
    const int aligned = vector_width(16, format);
    return {offset, k, extent, ceil_div(extent, aligned) * aligned};
  }

  static std::int64_t packed_bytes(const FormatTraits& format, const PackedOperand& operand) {
    return ceil_div(operand.rows * operand.ld * format.bytes, 256) * 256;
  }

  /// What ptxas asks for where nothing limits it; set by hand to lie near what 4500 kernels for sm_90 got.
  /// The rules keep the coarser registers(): it decides what is a candidate, this one what becomes of it.
  static double wanted_registers(const Problem& problem, const Params& p) {
    const int words = accumulator_registers(problem);
    const double each = static_cast<double>(p.bk) * words / threads(p);
    const double staged = staged_extent(problem, p) * each;
    const double copied = p.load == 1 ? (p.bm + p.bn) * each - staged : 0;
    return words * (1.1 * p.tm * p.tn + 0.8 * (p.tm + p.tn)) + 2.4 * staged + 1.5 * copied + 39;
  }

  static WorkEstimate estimate(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    const double fma_per_k = static_cast<double>(p.tm) * p.tn;
    const double vector = std::min<int>({16 / types.accumulator.bytes, p.tm, p.tn});
    const double fragment_loads = (p.tm + p.tn) / vector;
    const auto copies = [&](bool along_k, int extent) {
      const double each = along_k ? kTransposed : p.load == 0 ? 0.75 : p.load == 1 ? 0.5 : 0;
      return each * extent / threads(p);
    };
    const double staging = copies(a_along_k(problem, p), p.bm) + copies(b_along_k(problem, p), p.bn);
    WorkEstimate work;
    work.issue_slots_per_fma =
        1 + (kFragmentLoad * fragment_loads + staging + kTile / p.bk + kRound / p.unroll) / fma_per_k;
    // Also set by hand: what it costs the main loop not to turn, to walk slices of tiles, to be longer than the
    // instruction cache, and to spill, which begins a little before registers run out.
    if (p.order == 0) work.issue_slots_per_fma *= 1.02;
    if (p.stream == 1) work.issue_slots_per_fma *= 1.06;
    if (fma_per_k * p.unroll > 1024) work.issue_slots_per_fma *= 1.03;
    const double wanted = wanted_registers(problem, p);
    const double allowed =
        std::min(device.max_registers_per_thread, device.max_registers_per_sm / (threads(p) * p.min_blocks) / 8 * 8);
    work.issue_slots_per_fma *= 1 + 0.004 * std::max(0.0, wanted + 5 - allowed);
    work.bytes_per_k = p.bm * types.a.bytes + p.bn * types.b.bytes;
    // Threads of a warp share rows and columns, so that some of their loads are served at once (fitted).
    const double served = vector * types.accumulator.bytes < 16 ? 0.3 : 0.5;
    work.smem_bytes_per_fma = served * (p.tm + p.tn) * types.accumulator.bytes / fma_per_k;
    work.tile_m = p.bm;
    work.tile_n = p.bn;
    work.tile_k = p.bk;
    work.split_k = p.split;
    work.shares_last_wave = p.stream == 1;
    work.registers = static_cast<int>(std::min(wanted, allowed));
    work.bytes_in_flight = static_cast<int>((p.stages - 1) * p.bk * work.bytes_per_k);
    return work;
  }

  static Params default_params(const Problem& problem) {
    Params params;
    if (accumulator_registers(problem) > 1) params.tm = 4;
    return params;
  }

  static std::span<const Proven> proven() { return kProvenSimt; }
};

}  // namespace

MMTUNE_FAMILY(simt, Simt)

}  // namespace mmtune
