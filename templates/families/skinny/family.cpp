// The family for products with few rows or few columns; see kernel.cu for the picture.
#include <algorithm>
#include <bit>
#include <utility>

#include "templates/families/skinny/proven.h"
#include "templates/family/family_of.h"
#include "templates/family/split_k.h"
#include "templates/model/numbers.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

struct Skinny {
  struct Params {
    Param side{0}, few{1}, own{1}, unroll{4}, warps{8}, warps_k{8}, min_blocks{1}, split{1}, narrow{0}, stages{1},
        lanes{32};
  };

  static constexpr std::string_view kName = "skinny";
  static constexpr std::string_view kSummary = "few rows or few columns: streams the large operand once; split-K";

  static constexpr int kMostWidened = 8;  ///< the elements of a load that are all widened at once, to save registers
  static constexpr int kVectorBytes = 16;

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"SIDE", &Params::side, {{0, "rows"}, {1, "columns"}}, "short side of C"},
        {"FEW", &Params::few, {1, 2, 4, 8, 16}, "positions on the short side per thread"},
        {"OWN", &Params::own, {1, 2, 4}, "vectors per thread along the long side"},
        {"UNROLL", &Params::unroll, {1, 2, 4, 8}, "vectors per thread along k"},
        {"WARPS", &Params::warps, {4, 8, 16}, "warps per block"},
        {"WARPS_K", &Params::warps_k, {1, 2, 4, 8, 16}, "warps of a block that share the steps along k"},
        {"MIN_BLOCKS", &Params::min_blocks, {1, 2, 4}, "blocks per SM that the registers must allow"},
        {"SPLIT", &Params::split, {1, 2, 4, 8, 16, 32}, "blocks that share one tile's k"},
        {"NARROW", &Params::narrow, {{0, "shared"}, {1, "registers"}}, "where the operand of the short side passes"},
        {"STAGES", &Params::stages, {1, 2, 3, 4}, "in shared memory, by asynchronous copies; 1: in registers"},
        {"LANES", &Params::lanes, {1, 8, 16, 32}, "lanes of a warp that read neighbouring vectors"},
    };
    return rows;
  }

  /// What follows from a problem and a configuration; the constants of kernel.cu by the same names.
  struct Shape {
    Shape(const Problem& problem, const Params& p) {
      const PrecisionTraits& types = traits(problem.precision);
      along_k = Skinny::along_k(problem, p.side);
      wide_bytes = p.side == 0 ? types.b.bytes : types.a.bytes;
      narrow_bytes = p.side == 0 ? types.a.bytes : types.b.bytes;
      const int most = p.narrow == 0 ? kMostWidened : kVectorBytes;
      vec = std::clamp(wide_align(problem, p.side) / wide_bytes, 1, most);
      const int span = p.lanes * vec;
      const int across = 32 / p.lanes;
      tile = std::max(1, p.warps / p.warps_k) * p.own * (along_k ? across : span);
      parts = p.lanes == 1 ? p.warps_k : 1;
      bk = p.warps_k / parts * p.unroll * (along_k ? span : across);
      sums = p.own * (along_k ? 1 : vec) * p.few;
      threads = p.warps * 32;
      const int partial = p.warps_k == 1 ? threads : p.lanes == 1 ? threads * sums : threads / 2 * sums;
      const int stage = p.own * p.unroll * threads * vec * wide_bytes;
      smem_bytes = std::max(partial * types.accumulator.bytes, p.stages > 1 ? p.stages * stage : 0);
      if (p.narrow == 0) {
        pass_through_shared(p, types.accumulator.bytes);
      } else {
        load_to_registers(problem, p);
      }
    }

    bool along_k;         ///< whether the wide operand is contiguous along k
    int wide_bytes;       ///< the bytes of an element of the wide operand
    int narrow_bytes;     ///< the bytes of an element of the narrow operand
    int vec;              ///< the elements of the wide operand per load
    int tile;             ///< the positions of the long side per block
    int parts;            ///< the parts of k, one after the other, that a block's warps have
    int bk;               ///< the steps along k per stage of a part
    int sums;             ///< sums per thread
    int threads;          ///< threads per block
    int smem_bytes;       ///< bytes per block
    int narrow_vec = 1;   ///< the neighbouring elements of the narrow operand that its alignment allows to load at once
    int narrow_elements;  ///< the elements of the narrow operand per thread and stage
    int narrow_loads;     ///< the loads of these from global memory
    int group = 1;        ///< the values of the narrow operand that one load from shared memory brings

   private:
    void pass_through_shared(const Params& p, int accumulator_bytes) {
      const int many = 16 / accumulator_bytes;  // the sums in 16 bytes
      group = std::min<int>(many, along_k ? vec : p.few);
      const int rows = along_k ? p.few : bk;
      const int row = (along_k ? bk : p.few) + many;
      smem_bytes = std::max(smem_bytes, 2 * rows * row * accumulator_bytes);
      narrow_elements = narrow_loads = static_cast<int>(ceil_div(std::int64_t{p.few} * bk, threads));
    }

    void load_to_registers(const Problem& problem, const Params& p) {
      const int run = along_k ? vec : p.unroll;
      const int most = std::min(run, kVectorBytes / narrow_bytes);
      if (narrow_along_k(problem, p.side)) {
        narrow_vec = std::max(1, narrow_align(problem, p.side) / narrow_bytes);
      }
      narrow_elements = p.few * (along_k ? p.unroll * vec : p.unroll);
      narrow_loads = narrow_elements / (is_flat(problem, p.side) ? most : std::min(most, narrow_vec));
    }
  };

  static bool along_k(const Problem& problem, int side) {
    return side == 0 ? transposes_b(problem.layout) : !transposes_a(problem.layout);
  }
  static bool narrow_along_k(const Problem& problem, int side) {
    return side == 0 ? !transposes_a(problem.layout) : transposes_b(problem.layout);
  }

  static int wide_align(const Problem& problem, int side) { return side == 0 ? problem.align.b : problem.align.a; }
  static int narrow_align(const Problem& problem, int side) { return side == 0 ? problem.align.a : problem.align.b; }

  /// Whether the narrow operand is one position whose steps lie side by side though its layout does not say so.
  static bool is_flat(const Problem& problem, int side) {
    return !narrow_along_k(problem, side) && few(problem, side) == 1;
  }
  static std::int64_t few(const Problem& problem, int side) { return side == 0 ? problem.m : problem.n; }
  static std::int64_t extent(const Problem& problem, int side) { return side == 0 ? problem.n : problem.m; }
  static int short_side(const Problem& problem) { return problem.n < problem.m ? 1 : 0; }

  /// The power of two, at most 16, that covers the short side.
  static int covering(const Problem& problem, int side) {
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::clamp<std::int64_t>(few(problem, side), 1, 16))));
  }

  static std::int64_t tiles(const Problem& problem, const Params& p, const Shape& shape) {
    return ceil_div(few(problem, p.side), p.few) * ceil_div(extent(problem, p.side), shape.tile);
  }

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    const PrecisionTraits& types = traits(problem.precision);
    rules.must(same_bits(types.a, types.b), "chunks of both operands have as many elements");
    rules.must(p.warps_k <= p.warps, "WARPS_K is at most WARPS");
    rules.must(p.narrow == 0 || p.few == 1 || narrow_along_k(problem, p.side),
               "NARROW=registers is for an operand contiguous along k, or FEW=1");
    rules.must(p.stages == 1 || p.narrow == 1, "STAGES above 1 go with NARROW=registers");
    rules.must(p.stages == 1 || compute_capability(device) >= 80, "STAGES above 1 need compute capability 8.0");
    rules.must(p.stages == 1 || wide_align(problem, p.side) >= 4, "STAGES above 1 need alignment to 4 bytes");
    rules.must(p.lanes > 1 || (along_k(problem, p.side) && p.stages > 1),
               "with LANES=1 lanes copy for each other what lies along k");
    rules.must(p.lanes > 1 || p.warps_k == 1 || p.split == 1, "with LANES=1 either warps or blocks have parts of k");
    if (!rules.ok()) return;
    const Shape shape(problem, p);
    const ModelNumbers& numbers = model_numbers(device);
    const int need = registers(problem, p, shape, numbers);
    rules.must(shape.sums * accumulator_registers(problem) <= 128, "at most 128 registers of sums per thread");
    rules.must(p.narrow == 1 || shape.narrow_elements <= 32, "at most 32 staged elements per thread");
    rules.must(need <= 255, "expected registers fit a thread");
    rules.must(need * shape.threads <= device.max_registers_per_block, "expected registers fit a block");
    rules.must(need * shape.threads * p.min_blocks <= device.max_registers_per_sm,
               "registers allow MIN_BLOCKS blocks per SM");
    if (!rules.ok()) return;
    rules.worth(p.min_blocks == 4 || need * shape.threads * 2 * p.min_blocks > device.max_registers_per_sm,
                "MIN_BLOCKS uses at least half of the registers");
    rules.worth(std::min(problem.m, problem.n) <= 32, "C has at most 32 rows or columns");
    rules.worth(p.side == short_side(problem), "SIDE is the shorter one");
    const int cover = covering(problem, p.side);
    rules.worth(p.few <= cover && 2 * p.few >= cover, "FEW covers the short side, or half of it");
    const int loads = p.own * p.unroll * std::max<int>(1, p.stages - 1);
    const int most = p.lanes == 1 ? 24 : p.narrow == 1 ? 16 : 8;
    rules.worth(loads >= 2 && loads <= most, "a thread has a few loads in flight");
    rules.worth(shape.tile < 2 * extent(problem, p.side), "at most half of a tile is empty");
    rules.worth((p.lanes > 1 ? p.lanes : p.unroll) * shape.vec * shape.wide_bytes >= 64,
                "LANES read at least 64 neighbouring bytes");
    rules.worth(p.lanes == 1 || p.lanes == 32 || !shape.along_k || 2 * shape.bk * (32 / p.lanes) > problem.k,
                "along k LANES is below 32 for few stages");
    rules.worth(p.lanes > 1 || problem.invariant, "LANES=1 is for invariant products");
    rules.worth(p.split == 1 || tiles(problem, p, shape) * p.split < 16 * std::int64_t{device.sm_count},
                "SPLIT is for fewer blocks than sixteen per SM");
    const int parts = p.split * shape.parts;
    rules.worth(parts == 1 || ceil_div(problem.k, shape.bk) >= 2 * parts, "every part has at least two stages");
  }

  static Summation summation(const Problem& problem, const Params& p, const DeviceSpec&) {
    const Shape shape(problem, p);
    const bool is_in_order = p.warps_k / shape.parts * (shape.along_k ? p.lanes : 32 / p.lanes) == 1;
    return {.adder = is_in_order ? Summation::Adder::fma : Summation::Adder::other,
            .part = summed_part(problem, p.split * shape.parts, shape.bk)};
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const Shape shape(problem, p);
    LaunchPlan plan;
    plan.constants = {{"ALONG_K", shape.along_k}, {"VEC", shape.vec}, {"NARROW_VEC", shape.narrow_vec},
                      {"TILE", shape.tile},       {"BK", shape.bk},   {"REDUCE_THREADS", kReduceThreads}};
    (p.side == 0 ? plan.needs.b : plan.needs.a) = wide_align(problem, p.side);
    if (shape.narrow_vec > 1) (p.side == 0 ? plan.needs.a : plan.needs.b) = shape.narrow_vec * shape.narrow_bytes;
    const Arg partial = add_partial_sums(plan, problem, p.split);

    LaunchStep gemm;
    gemm.grid = grid_of(tiles(problem, p, shape) * p.split, p.split);
    gemm.block.x = shape.threads;
    gemm.smem_bytes = shape.smem_bytes;
    gemm.args = blas_arguments();
    gemm.pass({partial, k_tiles_of_part(problem, p.split * shape.parts, shape.bk)});
    plan.steps.push_back(std::move(gemm));
    add_reduce_step(plan, problem, partial, p.split);
    overlap_steps(plan, device);
    plan.work = estimate(problem, p, shape, model_numbers(device));
    return plan;
  }

  /// The registers, fitted to what ptxas reports for this kernel.
  static int registers(const Problem& problem, const Params& p, const Shape& shape, const ModelNumbers& numbers) {
    const int words = accumulator_registers(problem);
    const int sums = words * shape.sums;
    const int vectors = p.own * p.unroll * std::max(1, shape.vec * shape.wide_bytes / 4);
    if (p.narrow == 1) {
      const int held = shape.narrow_elements * shape.narrow_bytes / 4;
      const int arriving = p.stages > 1 ? whole(numbers.skinny_arriving_share * vectors) : vectors;
      const double others = shape.along_k
                                ? numbers.skinny_k_registers + numbers.skinny_k_own_registers * p.own
                                : numbers.skinny_across_registers + numbers.skinny_across_own_registers * p.own;
      const double saved = p.stages > 1 ? 0 : numbers.skinny_unstaged_registers;
      return sums + arriving + std::max(held, shape.narrow_loads) + whole(others - saved);
    }
    const int staged = shape.narrow_elements;
    const int widened = widening_slots(problem) * p.own * shape.vec;
    const int loaded = whole(numbers.skinny_vector_registers * vectors);
    if (shape.along_k) {
      const double others = widened > 0 ? numbers.skinny_shared_k_widened + widened : numbers.skinny_shared_k_registers;
      return whole(numbers.skinny_shared_k_sums * sums) + loaded + whole(numbers.skinny_shared_k_staged * staged) +
             whole(others);
    }
    const double of_staged = numbers.skinny_shared_staged_words * words + numbers.skinny_shared_staged;
    const double others = numbers.skinny_shared_own * p.own + numbers.skinny_shared_registers;
    return sums + loaded + whole(of_staged * staged) + words * shape.group + whole(others);
  }

  /// What a thread issues for a stage besides its loads.
  static double issue_slots(const Problem& problem, const Params& p, const Shape& shape, const ModelNumbers& numbers) {
    const int loads = p.own * p.unroll;
    const double fma = static_cast<double>(loads) * shape.vec * p.few;
    const double widened = static_cast<double>(widening_slots(problem)) * loads * shape.vec;
    if (p.narrow == 0) {
      const double fragments = static_cast<double>(p.unroll) * (shape.along_k ? shape.vec : 1) * p.few / shape.group;
      return fma + widened + fragments + numbers.skinny_shared_slots * shape.narrow_loads;
    }
    const PrecisionTraits& types = traits(problem.precision);
    const bool by_fours = types.a.integer && shape.along_k && shape.wide_bytes == 1 && shape.vec >= 4;
    if (by_fours) return fma / 4;
    return fma + widened + widening_slots(problem) * shape.narrow_elements;
  }

  static WorkEstimate estimate(const Problem& problem, const Params& p, const Shape& shape,
                               const ModelNumbers& numbers) {
    const int loads = p.own * p.unroll;
    const double fma = static_cast<double>(loads) * shape.vec * p.few;  // the multiply-adds of a thread and stage
    WorkEstimate work;
    work.issue_slots_per_fma = (issue_slots(problem, p, shape, numbers) +
                                numbers.skinny_load_slots * (loads + shape.narrow_loads) + numbers.skinny_stage_slots) /
                               fma;
    work.bytes_per_k = shape.tile * shape.wide_bytes + p.few * shape.narrow_bytes;
    const int value_bytes = p.narrow == 0 ? traits(problem.precision).accumulator.bytes : shape.narrow_bytes;
    work.smem_bytes_per_fma = static_cast<double>(value_bytes) / (shape.along_k ? p.own : p.own * shape.vec);
    work.tile_m = p.side == 0 ? p.few : shape.tile;
    work.tile_n = p.side == 0 ? shape.tile : p.few;
    work.tile_k = shape.bk * shape.parts;
    work.split_k = p.split;
    work.k_lanes = p.warps_k * (shape.along_k ? p.lanes : 32 / p.lanes);
    work.registers = registers(problem, p, shape, numbers);
    work.bytes_in_flight = static_cast<int>(std::max<int>(1, p.stages - 1) * work.tile_k * work.bytes_per_k);
    if (p.stages > 1) work.fetch = Fetch::copies;
    work.meets = p.narrow == 0;
    return work;
  }

  /// Runs on every GPU, so that STAGES stays 1.
  static std::span<const Proven> proven() { return proven_skinny(); }

  static Params default_params(const Problem& problem) {
    constexpr int kFewInRegisters = 4;  // Beyond so many, what threads share is worth a barrier.
    Params params;
    params.side = short_side(problem);
    params.few = covering(problem, params.side);
    const bool is_along_k = along_k(problem, params.side);
    const bool side_by_side = params.few == 1 || narrow_along_k(problem, params.side);
    if (is_along_k) {
      params.own = params.few <= kFewInRegisters ? 4 : 2;
      params.unroll = 1;
      params.warps_k = 1;
    } else if (widening_slots(problem) > 0) {
      params.few = std::min<int>(params.few, 8);
    }
    if (side_by_side && params.few <= kFewInRegisters) {
      params.narrow = 1;
      params.unroll = is_along_k ? 2 : 8;
      if (!is_along_k) params.lanes = 8;
    }
    return params;
  }
};

}  // namespace

MMTUNE_FAMILY(skinny, Skinny)

}  // namespace mmtune
