// A bundle in a program without mmtune, on a driver that pretends.
#include <gmock/gmock.h>

#include <filesystem>
#include <string_view>

#include "db/store.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

class KernelBundle : public Cli {
 protected:
  /// A decision for a program that runs every size.
  void decide(Precision precision, Layout layout, std::int64_t m, std::int64_t n, std::int64_t k) const {
    const test::Decision decision{packed_problem(precision, layout, m, n, k), "naive", "", 1};
    const DeviceSpec device = catalog_gpu("h200");
    const CompileTarget target = compile_target(device, {90});
    const Source source = test::source_of(decision, device, target.compute_capability);
    Binary binary = test::pretended_binary(source, target);
    binary.cubin = test::fake_program(precision, layout);
    binary.hash = hash_machine_code(binary.cubin);
    Store store = Store::open(path("default.db"), OpenMode::read_write);
    test::put(store, device, decision, source.hash, binary);
  }

  /// Expects right products of a program over the header in the folder gemm.
  void expect_products(std::string_view program) const {
    std::ofstream(path("main.cpp")) << program;
    const Result compiled = shell(fmt::format(
        "'{}' -std=c++17 -Wall -Wextra -Werror {} '-I{}' -isystem '{}' '{}' -o '{}' '{}/libcuda.so' '-Wl,-rpath,{}'",
        MMTUNE_SHIM_COMPILER, MMTUNE_SANITIZER_FLAG, path("gemm"), MMTUNE_CUDA_INCLUDE_FOLDER, path("main.cpp"),
        path("program"), MMTUNE_FAKE_CUDA_FOLDER, MMTUNE_FAKE_CUDA_FOLDER));
    ASSERT_EQ(compiled.code, 0) << compiled.err;
    const Result ran = shell(fmt::format("'{}' '{}'", path("program"), path("gemm")));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "9 21 21 49 33 77 ");  // 2 A B' - 1
  }
};

/// A fixture with the names of bundles.
constexpr std::string_view kProgram = R"(
#include "mmtune_bundle.h"
#include <cstdio>
int main(int, char** arguments) {
  CUcontext context = nullptr;
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 || cuCtxSetCurrent(context) != 0) return 2;
  float a[3 * 2] = {1, 2, 3, 4, 5, 6}, b[2 * 2] = {1, 2, 3, 4}, c[3 * 2] = {1, 1, 1, 1, 1, 1};
  const auto address = [](float* memory) { return reinterpret_cast<CUdeviceptr>(memory); };
  const mmtune_bundle::Bundle bundle(arguments[1]);
  mmtune_bundle::Operands operands{address(a), 2, address(b), 2, address(c), 2, 2, -1};
  const auto* product = mmtune_bundle::find("fp32", "nt", 3, 2, 2, operands);
  if (product == nullptr || mmtune_bundle::find("fp32", "nt", 3, 2, 9, operands) != nullptr) return 1;
  bundle.run(*product, operands, nullptr);
  for (float value : c) std::printf("%g ", value);
}
)";

TEST_F(KernelBundle, RunsInAProgramOfItsOwn) {
  decide(Precision::fp32, Layout::nt, 3, 2, 2);
  decide(Precision::fp32, Layout::nt, 30, 20, 20);
  decide(Precision::fp64, Layout::nn, 5, 6, 7);
  const Result made = mmtune(fmt::format("export --bundle '{}' --layout nt,nn --device model:h200", path("gemm")));
  ASSERT_EQ(made.code, 0) << made.err;
  expect_products(kProgram);
  EXPECT_THAT(content(path("gemm/mmtune_bundle.h")), ::testing::Not(HasSubstr("\"fp64\"")));

  EXPECT_EQ(mmtune(fmt::format("export --bundle '{}' --layout nt --device model:h200", path("gemm"))).code, 2)
      << "the files exist";
  const Result nothing = mmtune(fmt::format("export --bundle '{}' --size 8 --device model:h200", path("none")));
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--size"));
}

TEST_F(KernelBundle, OfOneKernelIsInANamespaceOfItsOwn) {
  std::filesystem::create_directory(path("gemm"));
  const Result made = mmtune(fmt::format(
      "export --kernel '{}' --family naive --size 3x2x2 --layout nt --device model:h200", path("gemm/one-3")));
  if (made.code == 3) GTEST_SKIP() << made.err;
  ASSERT_EQ(made.code, 0) << made.err;
  std::ofstream(path("gemm/one-3.cubin"), std::ios::binary) << test::fake_program(Precision::fp32, Layout::nt);
  std::string program(kProgram);
  const std::string_view bundle = "mmtune_bundle";
  program.replace(program.find("mmtune_bundle.h"), 15, "one-3.h");
  for (std::size_t at = 0; (at = program.find(bundle, at)) != std::string::npos;) {
    program.replace(at, bundle.size(), "mmtune_one_3");
  }
  expect_products(program);
}

}  // namespace
}  // namespace mmtune
