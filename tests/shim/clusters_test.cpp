// Clusters of three dimensions on the simulated machine: which blocks they have, in the order of their ranks.
#include <gtest/gtest.h>

#include "tests/shim/launch.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

TEST(Clusters, RankBlocksFromXToZ) {
  constexpr const char* kClusterKernel = R"(
#include "mmtune/tma.cuh"
extern "C" __global__ void gemm(float* C) {
  cluster_sync();
  if (threadIdx.x == 0) C[(blockIdx.z * 4 + blockIdx.y) * 6 + blockIdx.x] = cluster_rank();
}
)";
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 8, 6, 1);
  LaunchPlan plan;
  plan.steps.push_back({.grid = {6, 4, 2}, .block = {32}, .cluster = {3, 2, 2}, .args = {Arg::operand(Operand::c)}});
  const Program program({"clusters", kClusterKernel, ""}, plan, kernel_sources());
  const Memory any(1024), ranks(8 * 6 * sizeof(float));
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    launch(program, plan, problem, {any.address(), any.address(), ranks.address(), packed_leading_dimensions(problem)},
           order, "clusters");
    const auto* const found = reinterpret_cast<const float*>(ranks.data());
    for (int block = 0; block < 8 * 6; ++block) {
      const int x = block % 6, y = block / 6 % 4, z = block / 24;
      EXPECT_EQ(found[block], x % 3 + 3 * (y % 2) + 6 * z) << x << ',' << y << ',' << z;
    }
  }
}

}  // namespace
}  // namespace mmtune::shim
