// fp32 products on Hopper's fp16 tensor cores; see kernel.cu for the picture.
#include "templates/families/wgmma_fp16x3/proven.h"
#include "templates/family/family_of.h"
#include "templates/family/fp16x3.h"
#include "templates/family/planes.h"

namespace mmtune {
namespace {

struct WgmmaFp16x3 : PlaneFamily<2, 2> {
  static constexpr std::string_view kName = "wgmma_fp16x3";
  static constexpr std::string_view kSummary =
      "fp32 on Hopper's tensor cores: two planes of fp16 for each operand, three products, or three of bf16 and eight, "
      "sums promoted to fp32";

  static constexpr int kMostWideSums = 96;  ///< the registers of sums beside which two parts of them do not spill

  static void rules(const Problem& problem, const Params& p, const DeviceSpec& device, Rules& rules) {
    rules.must(compute_capability(device) == 90, "wgmma needs compute capability 9.0");
    rules.must(problem.precision == Precision::fp32_emulated, "emulates fp32 alone");
    plane_rules(problem, p, device, rules);
    rules.must(sums(p) <= kMostWideSums, "planes of bf16 leave a thread registers for its sums");
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchPlan plan;
    plan.constants = constants(problem, p, device);
    plan.constants.push_back({"SWAP", 0});
    const Fp16x3 scheme(plan, problem, device, true);
    const Arg partial = add_partial_sums(plan, problem, p.split);
    const Arg map_a = add_map(plan, "A", problem, p, scheme.a(), p.bm / p.cluster_n);
    const Arg map_b = add_map(plan, "B", problem, p, scheme.b(), p.bn / p.cluster_m);
    scheme.add_steps(plan, gemm_step(plan, problem, p, device, map_a, map_b, scheme.scale_arguments(), partial),
                     partial, p.split);
    plan.may_spill = false;
    plan.work = estimate(p, device, Unit::tensor_fp16);
    return plan;
  }

  static Arg add_map(LaunchPlan& plan, std::string_view name, const Problem& problem, const Params& p,
                     const Fp16x3::Planes& of, int box_rows) {
    return PlaneFamily::add_map(plan, name, problem, p, of.planes, Fp16x3::kWidePlanes * of.rows,
                                {.bytes = planes_ld(problem) * kPartBytes}, box_rows);
  }

  static std::span<const Proven> proven() { return proven_wgmma_fp16x3(); }
};

}  // namespace

MMTUNE_FAMILY(wgmma_fp16x3, WgmmaFp16x3)

}  // namespace mmtune
