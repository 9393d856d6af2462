// The limits that rules and the occupancy calculation go by are those of the driver.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/gpu/launch.h"
#include "templates/family/families.h"
#include "templates/gpu/occupancy.h"
#include "tests/runtime/support.h"
#include "tests/tuner/samples.h"

namespace mmtune {
namespace {

constexpr const char* kIdle = "extern \"C\" __global__ void gemm() {}";

class GpuLimits : public test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    plan_.steps.resize(1);
    plan_.steps[0].block.x = 32;
  }

  /// Loads and runs a kernel that does nothing as plan_ says.
  void run() const {
    const LoadedKernel kernel(build(kIdle), plan_);
    launch(kernel, plan_, problem_, {.a = 16, .b = 16, .c = 16, .ld = packed_leading_dimensions(problem_)}, nullptr);
    MMTUNE_CUDA(cuCtxSynchronize());
  }

  std::string_view broken() const {
    Rules rules;
    check_common_limits(problem_, plan_, device_, rules);
    return rules.broken();
  }

  void expect_occupancy_of_the_driver(const Family& family, const Problem& problem, const Config& config) const {
    const TemplateFiles& files = TemplateFiles::embedded();
    const LaunchPlan plan = family.plan(problem, config, device_);
    const Source source = render(files, family, problem, config, plan, target_.compute_capability);
    const Compilation compilation = nvrtc_->compile(source, files, target_);
    ASSERT_TRUE(compilation.ok()) << compilation.log;
    const LaunchStep& step = main_step(plan);
    const auto used = std::find_if(compilation.kernels.begin(), compilation.kernels.end(),
                                   [&](const KernelResources& each) { return each.kernel == step.kernel; });
    ASSERT_NE(used, compilation.kernels.end());
    const LoadedKernel kernel(compilation.cubin, plan);
    const auto threads = static_cast<int>(block_threads(step));
    int blocks = 0;
    MMTUNE_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel.function(static_cast<std::size_t>(&step - plan.steps.data())), threads,
        static_cast<std::size_t>(step.smem_bytes)));
    const std::int64_t smem_bytes = step.smem_bytes + used->static_smem_bytes;
    EXPECT_EQ(occupancy(device_, {threads, used->registers, smem_bytes}).blocks_per_sm, blocks)
        << family.name() << ' ' << config.text() << ", " << used->registers << " registers, " << smem_bytes
        << " bytes of shared memory";
  }

  Problem problem_ = packed_problem(Precision::fp32, Layout::nn, 64, 64, 64);
  LaunchPlan plan_;
};

TEST_F(GpuLimits, SharedMemory) {
  int& bytes = plan_.steps[0].smem_bytes;
  bytes =
      static_cast<int>(std::min(device_.smem_per_block_optin, device_.smem_per_sm - device_.smem_reserved_per_block));
  EXPECT_EQ(broken(), "");
  EXPECT_NO_THROW(run());
  ++bytes;
  EXPECT_EQ(broken(), "shared memory fits the device");
  EXPECT_THROW(run(), DeviceError);
}

TEST_F(GpuLimits, ThreadsPerBlock) {
  std::int64_t& threads = plan_.steps[0].block.x;
  threads = device_.max_threads_per_block;
  EXPECT_EQ(broken(), "");
  EXPECT_NO_THROW(run());
  ++threads;
  EXPECT_EQ(broken(), "the block has no more threads than the device allows");
  EXPECT_THROW(run(), DeviceError);
}

TEST_F(GpuLimits, Clusters) {
  if (device_.max_cluster_size == 1) GTEST_SKIP() << device_.name << " has no clusters";
  plan_.steps[0].grid.x = 2 * device_.max_cluster_size;
  plan_.steps[0].cluster.x = device_.max_cluster_size;
  EXPECT_EQ(broken(), "");
  EXPECT_NO_THROW(run());
}

TEST_F(GpuLimits, OccupancyIsThatOfTheDriver) {
  constexpr std::size_t kTried = 3;
  for (const Family* family : families()) {
    test::Sampler sampler(*family, device_, 2);
    for (const Precision precision : {Precision::fp32, Precision::fp64}) {
      const Problem problem = packed_problem(precision, Layout::nn, 1024, 1024, 1024);
      std::vector<Config> configs = sampler.draw(problem, kTried);
      configs.resize(std::min(configs.size(), kTried));
      for (const Config& config : configs) expect_occupancy_of_the_driver(*family, problem, config);
    }
  }
}

}  // namespace
}  // namespace mmtune
