#include "templates/gpu/device_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <set>

#include "templates/gpu/architectures.h"
#include "templates/gpu/gpu_catalog.h"

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
  // Vendor's data sheets and white papers, Tflop/s without sparsity, within 3 %.
  struct Peak {
    const char* gpu;
    Unit unit;
    double tflops;
  };
  constexpr Peak kPeaks[] = {
      {"k20c", Unit::core_fp32, 3.52},       {"k20c", Unit::core_fp64, 1.17},
      {"p100", Unit::core_fp64, 5.3},        {"p100", Unit::core_half2, 21.2},
      {"v100", Unit::core_fp32, 15.7},       {"v100", Unit::core_fp64, 7.8},
      {"v100", Unit::tensor_fp16, 125},      {"t4", Unit::core_fp32, 8.1},
      {"t4", Unit::tensor_fp16, 65},         {"t4", Unit::tensor_int8, 130},
      {"a100", Unit::core_fp32, 19.5},       {"a100", Unit::core_fp64, 9.7},
      {"a100", Unit::core_half2, 78},        {"a100", Unit::tensor_fp64, 19.5},
      {"a100", Unit::tensor_tf32, 156},      {"a100", Unit::tensor_bf16, 312},
      {"a100", Unit::tensor_int8, 624},      {"rtx3090", Unit::core_fp32, 35.6},
      {"rtx3090", Unit::core_half2, 35.6},   {"rtx3090", Unit::tensor_tf32, 35.6},
      {"rtx3090", Unit::tensor_fp16, 71},    {"rtx3090", Unit::tensor_int8, 284},
      {"l4", Unit::core_fp32, 30.3},         {"l4", Unit::tensor_fp16, 121},
      {"l4", Unit::tensor_tf32, 60},         {"l4", Unit::tensor_fp8, 242.5},
      {"l40s", Unit::core_fp32, 91.6},       {"l40s", Unit::tensor_fp16, 362},
      {"l40s", Unit::tensor_int8, 733},      {"rtx4090", Unit::core_fp32, 82.6},
      {"rtx4090", Unit::core_fp64, 1.29},    {"rtx4090", Unit::tensor_bf16, 165},
      {"rtx4090", Unit::tensor_fp8, 330},    {"rtx4090", Unit::tensor_int8, 661},
      {"h200", Unit::core_fp32, 67},         {"h200", Unit::core_fp64, 34},
      {"h200", Unit::core_half2, 134},       {"h200", Unit::tensor_fp64, 67},
      {"b200", Unit::core_fp64, 37},         {"b200", Unit::tensor_fp64, 37},
      {"rtx5090", Unit::core_fp32, 104.8},   {"rtx5090", Unit::tensor_tf32, 104.8},
      {"rtx5090", Unit::tensor_fp16, 209.5}, {"rtx5090", Unit::tensor_int8, 838},
      {"rtx5090", Unit::tensor_fp8, 419},
  };
  for (const Peak& peak : kPeaks) {
    EXPECT_NEAR(peak_tflops(catalog_gpu(peak.gpu), peak.unit), peak.tflops, 0.03 * peak.tflops)
        << peak.gpu << " unit " << static_cast<int>(peak.unit);
  }
}

TEST(DeviceSpec, HopperAndBlackwellStateTensorCoresAtAnotherClock) {
  // H200: dense Tflop/s at 1830 MHz, where CUDA cores count at 1980 MHz. B200: at about 1850 MHz.
  DeviceSpec h200 = catalog_gpu("h200"), b200 = catalog_gpu("b200");
  h200.core_clock_mhz = 1830;
  b200.core_clock_mhz = 1850;
  EXPECT_NEAR(peak_tflops(h200, Unit::tensor_tf32), 495, 5);
  EXPECT_NEAR(peak_tflops(h200, Unit::tensor_fp16), 989, 5);
  EXPECT_NEAR(peak_tflops(h200, Unit::tensor_fp8), 1979, 10);
  EXPECT_NEAR(peak_tflops(b200, Unit::tensor_tf32), 1120, 20);
  EXPECT_NEAR(peak_tflops(b200, Unit::tensor_bf16), 2250, 40);
  EXPECT_NEAR(peak_tflops(b200, Unit::tensor_int8), 4500, 80);
}

TEST(DeviceSpec, GpusWithoutAUnitSaySo) {
  EXPECT_EQ(fma_per_clock_per_sm(catalog_gpu("p100"), Unit::tensor_fp16), 0);
  EXPECT_EQ(fma_per_clock_per_sm(catalog_gpu("v100"), Unit::tensor_bf16), 0);
  EXPECT_EQ(fma_per_clock_per_sm(catalog_gpu("a100"), Unit::tensor_fp8), 0);
  EXPECT_EQ(fma_per_clock_per_sm(catalog_gpu("rtx5090"), Unit::tensor_fp64), 0);
}

TEST(DeviceSpec, APrecisionsPeakIsThatOfItsUnit) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  for (const Precision precision : kAllPrecisions) {
    const PrecisionTraits& types = traits(precision);
    EXPECT_EQ(peak_tflops(gpu, precision), peak_tflops(gpu, types.unit) / types.unit_products) << types.name;
  }
  EXPECT_EQ(fma_per_clock_per_sm(gpu, traits(Precision::int32).unit), 64);
  EXPECT_EQ(traits(Precision::bf16).unit, Unit::tensor_bf16);
  EXPECT_EQ(peak_tflops(catalog_gpu("p100"), Precision::bf16), peak_tflops(catalog_gpu("p100"), Precision::fp32))
      << "without tensor cores";
}

TEST(DeviceSpec, EveryPrecisionHasAPeakOnEveryGpu) {
  for (const auto& [key, gpu] : gpu_catalog()) {
    for (const Precision precision : kAllPrecisions) EXPECT_GT(peak_tflops(gpu, precision), 0) << key;
  }
}

TEST(DeviceSpec, AnUnknownArchitectureHasTheRatesOfAnOlderOne) {
  EXPECT_EQ(fma_per_clock_per_sm(device(10, 3), Unit::core_fp32), 128);
  EXPECT_EQ(fma_per_clock_per_sm(device(99, 0), Unit::tensor_fp16), 512) << "newer than all: as the newest";
  EXPECT_EQ(fma_per_clock_per_sm(device(8, 7), Unit::core_fp64), 2) << "as 8.6";
  EXPECT_EQ(fma_per_clock_per_sm(device(2, 0), Unit::core_fp32), 192) << "older than all: as the oldest";
  EXPECT_EQ(fma_per_clock_per_sm(DeviceSpec{}, Unit::core_fp32), 192);
}

TEST(Architectures, AreOrderedAndComplete) {
  int last = 0;
  for (const Architecture& row : kArchitectures) {
    SCOPED_TRACE(row.cc);
    EXPECT_GT(row.cc, last);
    last = row.cc;
    EXPECT_EQ(find_architecture(row.cc), &row);
    EXPECT_EQ(&nearest_architecture(row.cc), &row);
    EXPECT_EQ(row.threads_per_sm % 512, 0);
    EXPECT_GE(row.blocks_per_sm, 16);
    EXPECT_GE(row.smem_per_sm_kib, row.smem_per_block_kib + row.smem_reserved_kib);
    EXPECT_GE(row.max_cluster_size, 1);
    for (const Unit unit : {Unit::core_fp32, Unit::core_fp64, Unit::core_int32}) {
      EXPECT_GT(row.rates[static_cast<std::size_t>(unit)], 0) << "every GPU has such cores";
    }
  }
  EXPECT_EQ(find_architecture(103), nullptr);
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
    EXPECT_NE(find_architecture(compute_capability(gpu)), nullptr);
    EXPECT_GT(gpu.smem_per_sm, 0);
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
