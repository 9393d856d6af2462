#include "runtime/gpu/driver.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/runtime/support.h"

namespace mmtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Driver, MissingLibrarySaysHowToSeeWhereItLooked) {
  try {
    cuda();
    GTEST_SKIP() << "this machine has a driver";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the CUDA driver"), HasSubstr("-v"), HasSubstr("install")));
  }
  EXPECT_THROW(gpu_count(), DeviceError) << "a later call must try again";
}

TEST(Driver, ReadsTheReleaseOfEitherKernelModule) {
  EXPECT_EQ(parse_driver_release("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC\n"
                                 "GCC version:  gcc version 12.2.0\n"),
            "550.54.14");
  EXPECT_EQ(parse_driver_release("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"),
            "580.95.05");
  EXPECT_EQ(parse_driver_release(""), "");
}

/// Counts destructions.
struct CountDestroy {
  static inline int count = 0;
  void operator()(int) const noexcept { ++count; }
};

TEST(Handle, DestroysOnceAndOnlyWhatItOwns) {
  CountDestroy::count = 0;
  {
    Handle<int, CountDestroy> first(7);
    Handle<int, CountDestroy> second(std::move(first));
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), 7);
    Handle<int, CountDestroy> third(8);
    third = std::move(second);
    EXPECT_EQ(CountDestroy::count, 1);
    EXPECT_EQ(third.get(), 7);
  }
  EXPECT_EQ(CountDestroy::count, 2);
}

class GpuDriver : public test::GpuTest {};

TEST_F(GpuDriver, BuffersKeepWhatIsCopiedIntoThem) {
  const DeviceBuffer buffer(16);
  const std::vector<int> in = {1, 2, 3, 4};
  std::vector<int> out(4);
  MMTUNE_CUDA(cuMemcpyHtoD(buffer.address(), in.data(), 16));
  MMTUNE_CUDA(cuMemcpyDtoH(out.data(), buffer.address(), 16));
  EXPECT_EQ(out, in);
}

TEST_F(GpuDriver, NoBytesAreNoAddress) { EXPECT_EQ(DeviceBuffer(0).address(), 0u); }

TEST_F(GpuDriver, TooLargeABufferSaysHowMuchIsFree) {
  try {
    const DeviceBuffer buffer(std::size_t{1} << 50);
    FAIL() << "allocated a pebibyte";
  } catch (const OutOfMemoryError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("1048576.00 GiB"), HasSubstr("free")));
  }
}

TEST_F(GpuDriver, ErrorsNameCallAndCause) {
  try {
    MMTUNE_CUDA(cuMemFree(12345));
    FAIL() << "freed what was never allocated";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cuMemFree(12345)"), HasSubstr("CUDA_ERROR_INVALID_VALUE")));
  }
}

TEST_F(GpuDriver, RefusesADeviceThatIsNotThere) { EXPECT_THROW(Gpu(1000), DeviceError); }

TEST_F(GpuDriver, RestoresTheContextThatWasCurrent) {
  CUcontext outer = nullptr;
  MMTUNE_CUDA(cuCtxGetCurrent(&outer));
  EXPECT_EQ(outer, gpu_->context());
  { const Gpu again(0); }
  CUcontext after = nullptr;
  MMTUNE_CUDA(cuCtxGetCurrent(&after));
  EXPECT_EQ(after, outer);
}

TEST_F(GpuDriver, LoadsModulesAndNamesMissingKernels) {
  const Module module = load_module(build("extern \"C\" __global__ void gemm() {}"));
  EXPECT_NE(find_function(module, "gemm"), nullptr);
  EXPECT_THROW(find_function(module, "gemv"), DeviceError);
  EXPECT_THROW(load_module("no program"), DeviceError);
}

TEST_F(GpuDriver, KnowsItsVersion) { EXPECT_GE(std::stod(driver_version().cuda), 12.0); }

TEST_F(GpuDriver, DeviceHasPlausibleLimits) {
  const DeviceSpec spec = query_device(0);
  EXPECT_TRUE(spec.installed);
  EXPECT_FALSE(spec.name.empty());
  EXPECT_TRUE(spec.uuid.starts_with("GPU-"));
  EXPECT_EQ(spec.uuid.size(), 40u);
  EXPECT_EQ(spec.warp_size, 32);
  EXPECT_GE(compute_capability(spec), 50);
  EXPECT_GT(spec.sm_count, 0);
  EXPECT_GE(spec.smem_per_block_optin, spec.smem_per_block);
  EXPECT_GE(spec.smem_per_sm, spec.smem_per_block_optin);
  EXPECT_GT(spec.l2_bytes, 0);
  EXPECT_GT(spec.memory_bytes, spec.l2_bytes);
}

TEST_F(GpuDriver, EventsMeasureTime) {
  const Stream stream = make_stream();
  const Event start = make_event();
  const Event stop = make_event();
  MMTUNE_CUDA(cuEventRecord(start.get(), stream.get()));
  MMTUNE_CUDA(cuEventRecord(stop.get(), stream.get()));
  MMTUNE_CUDA(cuEventSynchronize(stop.get()));
  float ms = -1;
  MMTUNE_CUDA(cuEventElapsedTime(&ms, start.get(), stop.get()));
  EXPECT_GE(ms, 0.0f);
}

}  // namespace
}  // namespace mmtune
