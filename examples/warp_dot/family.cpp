// One warp per element of C; see kernel.cu for the picture.
#include "templates/family/family_of.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

struct WarpDot {
  struct Params {
    Param warps{4}, unroll{4};
  };

  static constexpr std::string_view kName = "warp_dot";
  static constexpr std::string_view kSummary = "one warp per element of C";

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"WARPS", &Params::warps, {1, 2, 4, 8}, "columns of C per block"},
        {"UNROLL", &Params::unroll, {1, 2, 4, 8}, "steps of a lane per turn of the loop"},
    };
    return rows;
  }

  static void rules(const Problem& problem, const Params&, const DeviceSpec&, Rules& rules) {
    rules.worth(problem.k >= 32, "every lane has a product");
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec&) {
    LaunchStep gemm;
    gemm.grid.x = tiles_of_c(problem, 1, p.warps);
    gemm.block = {32, p.warps, 1};
    gemm.args = blas_arguments();
    LaunchPlan plan;
    plan.steps = {gemm};
    plan.work.issue_slots_per_fma = 8;
    plan.work.bytes_per_k = fetched_bytes_per_k(problem, 1, p.warps);
    plan.work.tile_m = 1;
    plan.work.tile_n = p.warps;
    plan.work.tile_k = 32 * p.unroll;
    plan.work.bytes_in_flight = static_cast<int>(32 * p.unroll * plan.work.bytes_per_k);
    return plan;
  }
};

}  // namespace

MMTUNE_FAMILY(warp_dot, WarpDot)

}  // namespace mmtune
