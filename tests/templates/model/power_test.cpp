// What the power limit does to calls that follow each other.
#include "templates/model/power.h"

#include <gtest/gtest.h>

#include <cmath>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

Problem bf16(std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem(Precision::bf16, Layout::nn, m, n, k);
}

double factor(const std::string& text, const Problem& problem = bf16(4096, 4096, 4096)) {
  const DeviceSpec h200 = catalog_gpu("h200");
  const Family& wgmma = family_named("wgmma");
  const Config config = wgmma.with_defaults(Config::parse(text), problem);
  return power_factor(cost_of(problem, wgmma.plan(problem, config, h200), h200, 0), h200);
}

TEST(Power, HeavyCallsAreOfTensorCoresAndNotBoundByMemory) {
  EXPECT_TRUE(is_heavy(bf16(8080, 248, 2368), 20));
  EXPECT_FALSE(is_heavy(bf16(8080, 248, 2368), 9));
  EXPECT_FALSE(is_heavy(bf16(16, 8192, 8192), 40)) << "reads weights";
  EXPECT_FALSE(is_heavy(packed_problem(Precision::fp32, Layout::nn, 4096, 4096, 4096), 3000)) << "CUDA cores";
}

TEST(Power, PlansDifferFromEightMicrosecondsOfThePeakOn) {
  const DeviceSpec h200 = catalog_gpu("h200");
  EXPECT_FALSE(has_power_factor(bf16(1024, 1024, 2048), h200)) << "4 us";
  EXPECT_TRUE(has_power_factor(bf16(1024, 1024, 4096), h200)) << "9 us";
  EXPECT_FALSE(has_power_factor(bf16(128, 65536, 1024), h200)) << "bound by memory";
}

TEST(Power, LargeClustersAndTilesCostMoreAndHiddenStoresLess) {
  EXPECT_DOUBLE_EQ(factor("BM=128 BN=128"), 1);
  EXPECT_NEAR(factor("BM=128 BN=128 CLUSTER_M=2 CLUSTER_N=4"), std::pow(8, 0.03), 1e-9);
  EXPECT_NEAR(factor("BM=128 BN=256"), std::pow(2, 0.05), 1e-9);
  EXPECT_NEAR(factor("BM=128 BN=128 CONSUMERS=2 PINGPONG=1"), 0.99, 1e-9);
}

TEST(Power, IsNotKnownOfKernelsWithoutTheAccelerator) {
  const DeviceSpec h200 = catalog_gpu("h200");
  const Problem problem = bf16(4096, 4096, 4096);
  const Family& mma = family_named("mma_sync");
  const Config config = mma.with_defaults(Config::parse("BM=128 BN=256"), problem);
  EXPECT_EQ(power_factor(cost_of(problem, mma.plan(problem, config, h200), h200, 0), h200), 1);
}

}  // namespace
}  // namespace mmtune
