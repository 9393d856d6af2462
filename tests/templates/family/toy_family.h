// A small family for tests: three parameters, one rule, a plan whose numbers are easy to check by hand.
#pragma once

#include "templates/family/family_of.h"
#include "templates/problem/dtype.h"

namespace mmtune::test {

struct Toy {
  struct Params {
    Param bm{32}, bn{64}, width{1};
  };

  static constexpr std::string_view kName = "toy";
  static constexpr std::string_view kSummary = "for tests";
  static constexpr std::string_view kSquareEnough = "BN is at most twice BM";

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"BM", &Params::bm, {16, 32, 64}, "rows of C per block"},
        {"BN", &Params::bn, {16, 32, 64, 128}, "columns of C per block"},
        {"WIDTH", &Params::width, {1, 4}, "elements per access"},
    };
    return rows;
  }

  static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
    rules.must(p.bn <= 2 * p.bm, kSquareEnough);
  }

  /// One thread per row and 4 columns of the block; 1 KiB of shared memory per row.
  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec&) {
    LaunchStep step;
    step.grid.x = (problem.m + p.bm - 1) / p.bm * ((problem.n + p.bn - 1) / p.bn);
    step.block = {p.bn / 4, p.bm, 1};
    step.smem_bytes = 1024 * p.bm;
    step.args = blas_arguments();
    LaunchPlan plan;
    plan.steps = {step};
    plan.constants = {{"VA", problem.align.a / 4}};
    const int bytes = p.width * traits(problem.precision).a.bytes;
    plan.needs = {bytes, bytes, bytes};
    plan.work.tile_m = p.bm;
    plan.work.tile_n = p.bn;
    return plan;
  }
};

inline const Family& toy_family() {
  static const FamilyOf<Toy> family;
  return family;
}

}  // namespace mmtune::test
