// Square tiles in shared memory, one element of C per thread; see kernel.cu for the picture.
#include "templates/family/family_of.h"
#include "templates/model/numbers.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

struct Tiled {
  struct Params {
    Param tile{16}, unroll{16};
  };

  static constexpr std::string_view kName = "tiled";
  static constexpr std::string_view kSummary = "square tiles in shared memory, one element of C per thread";

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"TILE", &Params::tile, {1, 2, 4, 8, 16, 32}, "rows, columns and steps along k of a tile"},
        {"UNROLL", &Params::unroll, {1, 2, 4, 8, 16, 32}, "steps along k per turn of the inner loop"},
    };
    return rows;
  }

  static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
    rules.must(p.tile % p.unroll == 0, "UNROLL divides TILE");
  }

  static Summation summation(const Problem&, const Params&, const DeviceSpec&) {
    return {.adder = Summation::Adder::fma};
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchStep gemm;
    gemm.grid.x = tiles_of_c(problem, p.tile, p.tile);
    gemm.block = {p.tile, p.tile, 1};
    gemm.smem_bytes = shared_bytes(problem, p);
    gemm.args = blas_arguments();
    LaunchPlan plan;
    plan.steps = {gemm};
    plan.work = estimate(problem, p, model_numbers(device));
    return plan;
  }

  /// A tile of A and one of B, with a column of padding for a transposed one.
  static int shared_bytes(const Problem& problem, const Params& p) {
    const int row_a = p.tile + (transposes_a(problem.layout) ? 1 : 0);
    const int row_b = p.tile + (transposes_b(problem.layout) ? 1 : 0);
    return bytes_of_both(traits(problem.precision), p.tile * row_a, p.tile * row_b);
  }

  static WorkEstimate estimate(const Problem& problem, const Params& p, const ModelNumbers& numbers) {
    const double lanes = std::min(32, p.tile * p.tile);
    WorkEstimate work;
    work.issue_slots_per_fma = numbers.tiled_step_slots + 2 * widening_slots(problem) +
                               numbers.tiled_turn_slots / p.unroll + numbers.tiled_tile_slots / p.tile;
    work.bytes_per_k = fetched_bytes_per_k(problem, p.tile, p.tile);
    // A warp's load occupies at least one row of banks, however few threads it has and however narrow its elements.
    const PrecisionTraits& types = traits(problem.precision);
    work.smem_bytes_per_fma = (bank_bytes(types.a) + bank_bytes(types.b)) * 32 / lanes;
    work.tile_m = p.tile;
    work.tile_n = p.tile;
    work.tile_k = p.tile;
    work.registers = whole(numbers.tiled_registers) + 2 * accumulator_registers(problem);
    work.bytes_in_flight = static_cast<int>(p.tile * work.bytes_per_k);
    return work;
  }
};

}  // namespace

MMTUNE_FAMILY(tiled, Tiled)

}  // namespace mmtune
