// Tensor maps of three dimensions on a GPU: that their boxes are swizzled as the simulated machine of tests/shim has
// it.
#include <vector>

#include "runtime/gpu/launch.h"
#include "tests/runtime/support.h"
#include "tests/tensor_map_toy.h"
#include "tests/upload.h"

namespace mmtune {
namespace {

class GpuTensorMap : public test::GpuTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && query_device(0).cc_major < 9) GTEST_SKIP() << "this GPU has no tensor maps";
  }
};

TEST_P(GpuTensorMap, BringsBoxesOfThreeDimensions) {
  const test::TensorMapToy toy{.swizzle_bytes = GetParam()};
  const int k = (test::TensorMapToy::kPieces - 2) * toy.columns(), n = test::TensorMapToy::kPieces * toy.columns() - 3;
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 67, n, k);
  std::vector<float> a(static_cast<std::size_t>(problem.m * k)), c(static_cast<std::size_t>(problem.m * n));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i + 1);
  const DeviceBuffer on_gpu_a(a.size() * sizeof(float)), on_gpu_c(c.size() * sizeof(float));
  test::upload(on_gpu_a.address(), a.data(), on_gpu_a.bytes());

  const LaunchPlan plan = toy.plan(problem);
  ASSERT_EQ(plan_fault(plan), "");
  const LoadedKernel kernel(build(toy.text()), plan);
  const Operands operands{on_gpu_a.address(), on_gpu_a.address(), on_gpu_c.address(),
                          packed_leading_dimensions(problem)};
  launch(kernel, plan, problem, operands, nullptr);
  MMTUNE_CUDA(cuCtxSynchronize());
  MMTUNE_CUDA(cuMemcpyDtoH(c.data(), on_gpu_c.address(), on_gpu_c.bytes()));
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      const float expected = column < k ? a[static_cast<std::size_t>(row * k + column)] : 0;
      ASSERT_EQ(c[static_cast<std::size_t>(row * n + column)], expected) << row << ',' << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(GpuTogether, GpuTensorMap, testing::Values(0, 32, 64, 128));

}  // namespace
}  // namespace mmtune
