// The yardstick that other families are compared with: sums in double, or modulo 2^32; see kernel.cu.
#include "templates/family/family_of.h"
#include "templates/model/numbers.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

struct Reference {
  struct Params {};

  static constexpr std::string_view kName = "reference";
  static constexpr std::string_view kSummary = "sums in double precision, or exactly modulo 2^32; does not compete";
  static constexpr bool kCompetes = false;
  static constexpr int kTile = 32;  // rows and columns of C per block, steps along k of a tile
  static constexpr int kRows = 8;   // the rows of threads

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows;
    return rows;
  }

  static void rules(const Problem&, const Params&, const DeviceSpec&, Rules&) {}

  static LaunchPlan plan(const Problem& problem, const Params&, const DeviceSpec& device) {
    LaunchStep gemm;
    gemm.grid.x = tiles_of_c(problem, kTile, kTile);
    gemm.block = {kTile, kRows, 1};
    gemm.args = blas_arguments();
    LaunchPlan plan;
    plan.steps = {gemm};
    plan.constants = {{"TILE", kTile}};
    plan.work = estimate(problem, model_numbers(device));
    return plan;
  }

  static WorkEstimate estimate(const Problem& problem, const ModelNumbers& numbers) {
    constexpr double kSums = static_cast<double>(kTile) / kRows;
    const PrecisionTraits& types = traits(problem.precision);
    const bool in_double = !types.accumulator.integer;
    const double loads = 1 + 1 / kSums;  // the loads from shared memory per multiply-add
    WorkEstimate work;
    if (in_double) work.unit = Unit::core_fp64;
    work.issue_slots_per_fma = numbers.reference_step_slots + loads * (in_double ? numbers.reference_double_slots : 1);
    work.bytes_per_k = fetched_bytes_per_k(problem, kTile, kTile);
    work.smem_bytes_per_fma = bank_bytes(types.b) + bank_bytes(types.a) / kSums;
    work.tile_m = kTile;
    work.tile_n = kTile;
    work.tile_k = kTile;
    work.registers = whole(numbers.reference_registers);
    work.bytes_in_flight = static_cast<int>(kTile * work.bytes_per_k);
    return work;
  }
};

}  // namespace

MMTUNE_FAMILY(reference, Reference)

}  // namespace mmtune
