// One thread per element of C, and a fault to be chosen. For tests: no installed program has this family.
#include "templates/family/family_of.h"
#include "templates/problem/tiling.h"
#include "tests/tuner/faults/faults.h"

namespace mmtune {
namespace {

struct Faulty {
  struct Params {
    Param fault{0};
  };

  static constexpr std::string_view kName = "faulty";
  static constexpr std::string_view kSummary = "wrong on purpose";
  static constexpr int kTile = 16;  // rows and columns of C per block

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {{"FAULT", &Params::fault, all_faults(), "what is wrong"}};
    return rows;
  }

  static std::vector<ParamValue> all_faults() {
    std::vector<ParamValue> faults;
    for (const test::KernelFault& fault : test::kKernelFaults) {
      faults.emplace_back(static_cast<int>(faults.size()), fault.name);
    }
    return faults;
  }

  static void rules(const Problem&, const Params&, const DeviceSpec&, Rules&) {}

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec&) {
    LaunchStep gemm;
    gemm.grid.x = tiles_of_c(problem, kTile, kTile);
    gemm.block = {kTile, kTile, 1};
    gemm.args = blas_arguments();
    LaunchPlan plan;
    plan.steps = {gemm};
    plan.work.bytes_per_k = fetched_bytes_per_k(problem, kTile, kTile);
    plan.work.tile_m = plan.work.tile_n = kTile;
    for (std::size_t i = 0; i < test::kKernelFaults.size(); ++i) {
      plan.constants.push_back({test::kKernelFaults[i].name, static_cast<int>(i)});
    }
    const auto& fault = test::kKernelFaults[static_cast<std::size_t>(p.fault)];
    if (fault.name == "MEMORY") plan.workspace.add("too much", std::int64_t{1} << 42);
    return plan;
  }
};

}  // namespace

MMTUNE_FAMILY(faulty, Faulty)

}  // namespace mmtune
