#include "runtime/gpu/nvrtc.h"

#include <gmock/gmock.h>

#include <clocale>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/base/log.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

using test::NvrtcTest;
using test::ScopedEnv;
using test::sm;
using test::source_of;
using testing::HasSubstr;

constexpr const char* kKernel = R"(
extern "C" __global__ void gemm(float* c, int n) {
  __shared__ float tile[100];
  tile[threadIdx.x] = c[threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = tile[n - threadIdx.x] + 1.0f;
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(NvrtcTest, CompilesForEveryTargetItSupports) {
  ASSERT_FALSE(nvrtc_->supported().empty());
  EXPECT_TRUE(std::is_sorted(nvrtc_->supported().begin(), nvrtc_->supported().end()));
  for (const int capability : nvrtc_->supported()) {
    const Compilation compilation = compile(kKernel, sm(capability));
    EXPECT_TRUE(compilation.ok()) << sm(capability).name << compilation.log;
    EXPECT_TRUE(
        compilation.cubin.starts_with("\x7f"
                                      "ELF"));
    ASSERT_EQ(compilation.kernels.size(), 1u) << compilation.log;
    EXPECT_EQ(compilation.kernels[0].kernel, "gemm");
    EXPECT_GT(compilation.kernels[0].registers, 0);
    EXPECT_EQ(compilation.kernels[0].static_smem_bytes, 400);
  }
}

TEST_F(NvrtcTest, FailureIsAValueThatKeepsTheLog) {
  const Compilation compilation = compile("#line 7 \"templates/families/x/kernel.cu\"\nint x = nothing;\n");
  EXPECT_FALSE(compilation.ok());
  EXPECT_THAT(compilation.log, HasSubstr("templates/families/x/kernel.cu(7)"));
  EXPECT_THAT(compilation.log, HasSubstr("nothing"));
}

TEST_F(NvrtcTest, WarningsOfASuccessAreKept) {
  const Compilation compilation = compile("extern \"C\" __global__ void gemm() { int idle = 3; }");
  EXPECT_TRUE(compilation.ok());
  EXPECT_THAT(compilation.log, HasSubstr("idle"));
}

TEST_F(NvrtcTest, UnknownTargetIsAFaultNotAFailure) { EXPECT_THROW(compile(kKernel, {1, true, "sm_1"}), DeviceError); }

TEST_F(NvrtcTest, EqualCodeHasEqualHash) {
  const std::string constants = "// BM = 64\nconstexpr int BM = 64, BN = 32;\nconstexpr double PI = 3.14;\n";
  for (const int capability : nvrtc_->supported()) {
    const CompileTarget target = sm(capability);
    const std::string hash = compile(kKernel, target).code_hash;
    EXPECT_EQ(compile(kKernel, target).code_hash, hash) << target.name;
    EXPECT_EQ(compile(constants + kKernel, target).code_hash, hash) << target.name;
    EXPECT_NE(compile(replaced(kKernel, "1.0f", "2.0f"), target).code_hash, hash) << target.name;
    EXPECT_NE(compile(replaced(kKernel, "[100]", "[200]"), target).code_hash, hash) << target.name;
    EXPECT_NE(compile(replaced(kKernel, "void gemm", "void __launch_bounds__(64) gemm"), target).code_hash, hash)
        << target.name;
  }
}

TEST_F(NvrtcTest, HashCoversTablesThatAKernelReads) {
  const std::string table =
      "__constant__ int two = 2; constexpr float table[4] = {1, 2, 3, 4};\n"
      "extern \"C\" __global__ void gemm(float* c) { c[0] = table[threadIdx.x] + two; }";
  const std::string hash = compile(table).code_hash;
  EXPECT_EQ(compile(table).code_hash, hash);
  EXPECT_NE(compile(replaced(table, "1, 2, 3, 4", "1, 2, 3, 5")).code_hash, hash);
  EXPECT_NE(compile(replaced(table, "two = 2", "two = 7")).code_hash, hash);
}

TEST_F(NvrtcTest, HashSurvivesTruncatedPrograms) {
  const Compilation compilation = compile(kKernel);
  for (std::size_t size = 0; size < compilation.cubin.size(); size += 13) {
    EXPECT_EQ(hash_machine_code(compilation.cubin.substr(0, size)).size(), 32u) << size;
  }
}

TEST_F(NvrtcTest, ArithmeticIsIeee) {
  const ScopedEnv dump("MMTUNE_DUMP", "ptx");
  const ScopedEnv directory("MMTUNE_DUMP_DIR", testing::TempDir().c_str());
  const Nvrtc nvrtc = Nvrtc::load();
  const auto compilation = nvrtc.compile(
      source_of("extern \"C\" __global__ void gemm(float* x) { x[0] = x[1] / x[2] + sqrtf(x[3]) * x[4]; }"),
      TemplateFiles::embedded(), sm(80));
  EXPECT_THAT(compilation.ptx, HasSubstr("div.rn.f32"));
  EXPECT_THAT(compilation.ptx, HasSubstr("sqrt.rn.f32"));
  EXPECT_THAT(compilation.ptx, HasSubstr("fma.rn.f32"));
}

TEST_F(NvrtcTest, DumpsWhatWasAskedForAndNothingElse) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(testing::TempDir()) / "mmtune_dump";
  fs::remove_all(directory);
  fs::create_directory(directory);
  const ScopedEnv dump("MMTUNE_DUMP", "src,log");
  const ScopedEnv place("MMTUNE_DUMP_DIR", directory.c_str());
  const auto compilation = Nvrtc::load().compile(source_of(kKernel), TemplateFiles::embedded(), sm(80));
  EXPECT_TRUE(compilation.ptx.empty());
  const fs::path stem = directory / ("test-" + source_of("").hash);
  std::ifstream file(stem.string() + ".cu");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), kKernel);
  EXPECT_EQ(fs::file_size(stem.string() + ".log"), compilation.log.size());
  EXPECT_FALSE(fs::exists(stem.string() + ".cubin"));
  fs::remove_all(directory);
}

TEST_F(NvrtcTest, DumpFollowsNoLink) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(testing::TempDir()) / "mmtune_dump_link";
  fs::remove_all(directory);
  fs::create_directory(directory);
  const fs::path precious = directory / "precious";
  std::ofstream(precious) << "precious";
  fs::create_symlink(precious, directory / ("test-" + source_of(kKernel).hash + ".cu"));
  const ScopedEnv dump("MMTUNE_DUMP", "src");
  const ScopedEnv place("MMTUNE_DUMP_DIR", directory.c_str());
  const log::Level before = log::level();  // silent, where a test before opened a library so
  log::set_level(log::Level::warning);
  testing::internal::CaptureStderr();
  Nvrtc::load().compile(source_of(kKernel), TemplateFiles::embedded(), sm(80));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cannot be written"));
  log::set_level(before);
  std::ifstream file(precious);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious");
  fs::remove_all(directory);
}

TEST_F(NvrtcTest, RefusesAnUnknownDump) {
  const ScopedEnv dump("MMTUNE_DUMP", "src,sass");
  EXPECT_THROW(Nvrtc::load(), UsageError);
}

TEST_F(NvrtcTest, ThreadsCompileTheSameAsOne) {
  const Compilation alone[] = {compile(kKernel), compile(replaced(kKernel, "1.0f", "2.0f"))};
  Compilation together[2];
  std::thread first([&] { together[0] = compile(kKernel); });
  std::thread second([&] { together[1] = compile(replaced(kKernel, "1.0f", "2.0f")); });
  first.join();
  second.join();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(together[i].code_hash, alone[i].code_hash);
}

TEST_F(NvrtcTest, StopsWhenCancelled) {
  if (std::stoi(nvrtc_->version()) < 13) GTEST_SKIP() << "NVRTC " << nvrtc_->version() << " may not be able to stop";
  const auto compilation = nvrtc_->compile(source_of(kKernel), TemplateFiles::embedded(), sm(80), [] { return true; });
  EXPECT_FALSE(compilation.ok());
  EXPECT_THAT(compilation.log, HasSubstr("CANCEL"));
}

TEST_F(NvrtcTest, LeavesTheLocaleAlone) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  compile(kKernel);
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), before);
}

TEST_F(NvrtcTest, SwitchNamesTheOnlyCandidate) {
  {
    const ScopedEnv file("MMTUNE_NVRTC", nvrtc_->path().c_str());
    EXPECT_EQ(Nvrtc::load().version(), nvrtc_->version());
  }
  const ScopedEnv file("MMTUNE_NVRTC", "/nowhere/libnvrtc.so");
  try {
    Nvrtc::load();
    FAIL() << "loaded another library than the one asked for";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/libnvrtc.so"));
    EXPECT_THAT(error.what(), HasSubstr("MMTUNE_NVRTC"));
  }
}

}  // namespace
}  // namespace mmtune
