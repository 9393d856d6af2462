// Square tiles in shared memory, several elements of C per thread; see kernel.cu for the picture.
#include "templates/family/family_of.h"
#include "templates/model/numbers.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

struct TiledCoarsened {
  struct Params {
    Param tile{16}, cm{4}, cn{4}, unroll{8};
  };

  /// Leaves a thread of any GPU enough registers.
  static Params default_params(const Problem& problem) {
    Params params;
    if (accumulator_registers(problem) > 1) params.cm = params.cn = 2;
    return params;
  }

  static constexpr std::string_view kName = "tiled_coarsened";
  static constexpr std::string_view kSummary = "square tiles in shared memory, CM x CN elements of C per thread";

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"TILE", &Params::tile, {4, 8, 16, 32}, "threads of a block along x and y; steps along k of a tile"},
        {"CM", &Params::cm, {1, 2, 4, 8}, "tiles of C per block along the rows"},
        {"CN", &Params::cn, {1, 2, 4, 8}, "tiles of C per block along the columns"},
        {"UNROLL", &Params::unroll, {1, 2, 4, 8, 16, 32}, "steps along k per turn of the inner loop"},
    };
    return rows;
  }

  static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
    rules.must(p.tile % p.unroll == 0, "UNROLL divides TILE");
    rules.must(p.cm * p.cn > 1, "a coarsened thread owns more than one element");
  }

  static Summation summation(const Problem&, const Params&, const DeviceSpec&) {
    return {.adder = Summation::Adder::fma};
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchStep gemm;
    gemm.grid.x = tiles_of_c(problem, p.cm * p.tile, p.cn * p.tile);
    gemm.block = {p.tile, p.tile, 1};
    gemm.smem_bytes = shared_bytes(problem, p);
    gemm.args = blas_arguments();
    LaunchPlan plan;
    plan.steps = {gemm};
    plan.constants = {{"BM", p.cm * p.tile}, {"BN", p.cn * p.tile}};
    plan.work = estimate(problem, p, model_numbers(device));
    return plan;
  }

  /// CM tiles of A and CN tiles of B, with a column of padding for a transposed operand.
  static int shared_bytes(const Problem& problem, const Params& p) {
    const int row_a = p.tile + (transposes_a(problem.layout) ? 1 : 0);
    const int row_b = p.cn * p.tile + (transposes_b(problem.layout) ? 1 : 0);
    return bytes_of_both(traits(problem.precision), p.cm * p.tile * row_a, p.tile * row_b);
  }

  static WorkEstimate estimate(const Problem& problem, const Params& p, const ModelNumbers& numbers) {
    const double lanes = std::min(32, p.tile * p.tile);
    const double loads = 1.0 / p.cm + 1.0 / p.cn;  // the loads from shared memory per multiply-add
    WorkEstimate work;
    work.issue_slots_per_fma = 1 + loads * (1 + widening_slots(problem) + numbers.coarsened_tile_slots / p.tile) +
                               numbers.coarsened_turn_slots / (p.unroll * p.cm * p.cn);
    work.bytes_per_k = fetched_bytes_per_k(problem, p.cm * p.tile, p.cn * p.tile);
    // A warp's load occupies at least one row of banks, however few threads it has and however narrow its elements.
    const PrecisionTraits& types = traits(problem.precision);
    work.smem_bytes_per_fma =
        (static_cast<double>(bank_bytes(types.a)) / p.cn + static_cast<double>(bank_bytes(types.b)) / p.cm) * 32 /
        lanes;
    work.tile_m = p.cm * p.tile;
    work.tile_n = p.cn * p.tile;
    work.tile_k = p.tile;
    work.registers = whole(numbers.coarsened_registers) + accumulator_registers(problem) * (p.cm * p.cn + p.cm + p.cn);
    work.bytes_in_flight = static_cast<int>(p.tile * work.bytes_per_k);
    return work;
  }
};

}  // namespace

MMTUNE_FAMILY(tiled_coarsened, TiledCoarsened)

}  // namespace mmtune
