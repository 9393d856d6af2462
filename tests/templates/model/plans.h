// Launch plans as the families make them, for tests of the model.
#pragma once

#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"

namespace mmtune::test {

/// A register-tiled fp32 kernel with bm x bn of C per block and tm x tn per thread.
inline LaunchPlan tiled_plan(const Problem& problem, int bm, int bn, int tm, int tn, int split = 1) {
  LaunchPlan plan;
  plan.work.tile_m = bm;
  plan.work.tile_n = bn;
  plan.work.tile_k = 16;
  plan.work.split_k = split;
  plan.work.registers = tm * tn + 2 * (tm + tn) + 40;
  plan.work.bytes_per_k = 4.0 * (bm + bn);
  plan.work.smem_bytes_per_fma = 4.0 * (tm + tn) / (tm * tn);
  plan.work.issue_slots_per_fma = 1 + (tm + tn) / 4.0 / (tm * tn);
  plan.work.bytes_in_flight = static_cast<int>(plan.work.bytes_per_k) * 16;
  LaunchStep step;
  step.block.x = bm / tm * (bn / tn);
  step.grid.x = (problem.m + bm - 1) / bm * ((problem.n + bn - 1) / bn) * split;
  step.smem_bytes = 2 * 16 * 4 * (bm + bn);
  plan.steps = {step};
  if (split > 1) {
    plan.workspace.add("partial sums", split * problem.m * problem.n * 4);
    plan.steps.push_back({.kernel = "reduce", .grid = {1024, 1, 1}, .block = {256, 1, 1}, .smem_bytes = 0});
  }
  return plan;
}

/// One element per thread, every operand from the cache.
inline LaunchPlan naive_plan(const Problem& problem) {
  LaunchPlan plan = tiled_plan(problem, 16, 16, 1, 1);
  plan.work.tile_k = 1;
  plan.work.issue_slots_per_fma = 3;
  plan.work.smem_bytes_per_fma = 8;
  plan.work.bytes_in_flight = 0;
  plan.steps[0].smem_bytes = 0;
  return plan;
}

inline Problem square(std::int64_t n) { return packed_problem(Precision::fp32, Layout::nn, n, n, n); }

inline double time_us(const Problem& problem, const LaunchPlan& plan, const char* gpu = "h200") {
  return predict(problem, plan, catalog_gpu(gpu), 0).analytic_us;
}

/// A plan as that of a kernel for the accelerator, one block per SM.
inline LaunchPlan streamed_plan(const Problem& problem, int bm, int bn) {
  LaunchPlan plan = tiled_plan(problem, bm, bn, 8, 8);
  plan.work.unit = traits(problem.precision).unit;
  plan.work.issue_slots_per_fma = 0.01;
  plan.work.tile_k = 64;
  plan.work.k_lanes = 64;
  plan.work.bytes_per_k = 2.0 * (bm + bn);
  plan.work.smem_bytes_per_fma = 0.04;
  plan.work.bytes_in_flight = 128 * 1024;
  plan.work.fetch = Fetch::accelerator;
  plan.work.persistent = true;
  plan.work.registers = 168;
  plan.steps[0].block.x = 384;
  plan.steps[0].smem_bytes = 200'000;
  return plan;
}

inline Problem fp16_square(std::int64_t n) { return packed_problem(Precision::fp16, Layout::nn, n, n, n); }

}  // namespace mmtune::test
