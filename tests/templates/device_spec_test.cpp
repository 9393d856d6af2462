#include "templates/device_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <set>

#include "templates/gpu_catalog.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

DeviceSpec device(int major, int minor) {
  DeviceSpec spec;
  spec.cc_major = major;
  spec.cc_minor = minor;
  return spec;
}

TEST(CompileTarget, TakesItsOwnArchitecture) {
  const CompileTarget target = compile_target(device(9, 0), {75, 80, 86, 90, 100});
  EXPECT_EQ(target.name, "sm_90a");
  EXPECT_TRUE(target.exact);
  EXPECT_EQ(compile_target(device(8, 6), {75, 80, 86, 90}).name, "sm_86");
}

TEST(CompileTarget, FallsBackWithinTheMajorVersion) {
  const CompileTarget target = compile_target(device(8, 9), {75, 80, 86, 90});
  EXPECT_EQ(target.name, "sm_86");
  EXPECT_FALSE(target.exact);
}

TEST(CompileTarget, TooOldOrTooNewTakesTheOldest) {
  for (const DeviceSpec& spec : {device(3, 5), device(13, 0), device(7, 0)}) {
    const CompileTarget target = compile_target(spec, {75, 80, 90});
    EXPECT_EQ(target.name, "sm_75");
    EXPECT_FALSE(target.exact);
  }
}

TEST(DeviceSpec, PeaksAgreeWithDataSheets) {
  // Vendor's data sheets, Tflop/s without tensor cores, within 3 %.
  EXPECT_NEAR(peak_tflops(catalog_gpu("h100"), Precision::fp32), 67, 2);
  EXPECT_NEAR(peak_tflops(catalog_gpu("h100"), Precision::fp64), 34, 1);
  EXPECT_NEAR(peak_tflops(catalog_gpu("a100"), Precision::fp32), 19.5, 0.1);
  EXPECT_NEAR(peak_tflops(catalog_gpu("a100"), Precision::fp64), 9.7, 0.1);
  EXPECT_NEAR(peak_tflops(catalog_gpu("p100"), Precision::fp64), 5.3, 0.1);
  EXPECT_NEAR(peak_tflops(catalog_gpu("v100"), Precision::fp32), 15.7, 0.1);
  EXPECT_NEAR(peak_tflops(catalog_gpu("k20c"), Precision::fp32), 3.52, 0.05);
  EXPECT_NEAR(peak_tflops(catalog_gpu("k20c"), Precision::fp64), 1.17, 0.02);
  EXPECT_NEAR(peak_tflops(catalog_gpu("rtx4090"), Precision::fp32), 82.6, 0.2);
  EXPECT_NEAR(peak_tflops(catalog_gpu("rtx4090"), Precision::fp64), 1.29, 0.02);
}

TEST(DeviceSpec, SixteenBitStorageRunsAtTheFp32Rate) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  EXPECT_EQ(fma_per_clock_per_sm(gpu, Precision::bf16), fma_per_clock_per_sm(gpu, Precision::fp32));
  EXPECT_EQ(fma_per_clock_per_sm(gpu, Precision::int32), 64);
}

TEST(Catalogue, IsOrderedAndComplete) {
  std::set<std::string_view> keys;
  int last = 0;
  for (const auto& [key, gpu] : gpu_catalog()) {
    SCOPED_TRACE(key);
    EXPECT_TRUE(keys.insert(key).second);
    EXPECT_GE(compute_capability(gpu), last);
    last = compute_capability(gpu);
    EXPECT_FALSE(gpu.installed);
    EXPECT_GT(gpu.sm_count, 0);
    EXPECT_GT(gpu.memory_bandwidth_gb_s, 0);
    EXPECT_GE(gpu.max_threads_per_sm, gpu.max_threads_per_block);
    EXPECT_GE(gpu.smem_per_block_optin, gpu.smem_per_block);
    EXPECT_GE(gpu.smem_per_sm, gpu.smem_per_block_optin + gpu.smem_reserved_per_block);
    EXPECT_GT(gpu.memory_bytes, gpu.l2_bytes);
  }
  for (const char* key : {"h200", "h100", "a100", "v100", "p100", "l40s", "l4", "rtx4090", "rtx3090", "rtx5090", "b200",
                          "t4", "gtx1080", "gt740m", "k20c"}) {
    EXPECT_TRUE(keys.contains(key)) << key;
  }
}

TEST(Catalogue, FindsAnyCaseAndListsKeysOtherwise) {
  EXPECT_EQ(catalog_gpu("H200").name, "NVIDIA H200");
  try {
    catalog_gpu("h20");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'h20'"), HasSubstr("h200"), HasSubstr("k20c")));
  }
}

}  // namespace
}  // namespace mmtune
