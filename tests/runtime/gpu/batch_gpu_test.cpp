// Programs for a batch on a GPU: every family in the ways in which it finds operands and stores results, tensor cores
// and tensor maps included, and batches of the library.
#include <mmtune/mmtune.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gpu/launch.h"
#include "templates/family/families.h"
#include "tests/fused_product.h"
#include "tests/kernel_case.h"
#include "tests/runtime/gpu/image_on_gpu.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"
#include "tests/upload.h"

namespace mmtune {
namespace {

using test::FusedBatch;
using test::FusedProduct;

struct BatchOperandsOnGpu {
  explicit BatchOperandsOnGpu(const FusedBatch& of)
      : a(on_gpu(of, &FusedProduct::a, of.step_bytes.a)),
        b(on_gpu(of, &FusedProduct::b, of.step_bytes.b)),
        c(on_gpu(of, &FusedProduct::c, of.step_bytes.c)),
        bias(on_gpu(of, &FusedProduct::bias, 0)) {}

  /// The matrices of all products.
  static test::ImageOnGpu on_gpu(const FusedBatch& of, test::HostMatrix FusedProduct::*matrix, std::uintptr_t step) {
    return {of.image(matrix, step), (of.products.front().*matrix).offset_bytes()};
  }

  test::ImageOnGpu a, b, c, bias;
};

struct BatchShape {
  std::int64_t m, n, k;
  FusedBatch::Shares shares = FusedBatch::Shares::nothing;
  test::Scalars scalars = {};
  test::Gaps gaps = {};
};

constexpr BatchShape kBatchShapes[] = {
    {33, 65, 17},
    {131, 261, 75, FusedBatch::Shares::a, {.alpha = 1, .beta = -1}, {.padding = 3, .offset = 1}},
    {256, 264, 320, FusedBatch::Shares::nothing, {.alpha = 2, .beta = 1}, {.padding = 16, .offset = 16}},
    {520, 136, 264, FusedBatch::Shares::b},
    {64, 64, 64},
    {144, 72, 0, FusedBatch::Shares::nothing, {.alpha = 3, .beta = 2}},
};

constexpr test::KernelCase kBatchCases[] = {
    {"naive", Precision::fp32, Layout::nn, ""},
    {"reference", Precision::fp64, Layout::tt, ""},
    {"tiled", Precision::fp16, Layout::tn, ""},
    {"tiled_coarsened", Precision::fp32, Layout::nt, ""},
    {"simt", Precision::fp32, Layout::nn, ""},
    {"simt", Precision::fp32, Layout::tn, "SPLIT=4"},
    {"simt", Precision::fp32, Layout::nt, "SPLIT=4 REDUCE=1"},
    {"simt", Precision::fp32, Layout::nn, "LOAD=2 STAGES=4"},
    {"simt", Precision::fp32, Layout::tt, "LOAD=2 STAGES=3 PACK=1"},
    {"skinny", Precision::fp32, Layout::nn, "SPLIT=4"},
    {"skinny", Precision::bf16, Layout::nt, "SIDE=1"},
    {"mma_sync", Precision::fp16, Layout::nn, ""},
    {"mma_sync", Precision::tf32, Layout::tt, "SPLIT=2"},
    {"mma_sync", Precision::int8, Layout::tn, ""},
    {"wgmma", Precision::fp16, Layout::nn, ""},
    {"wgmma", Precision::bf16, Layout::tn, "SWAP=1"},
    {"wgmma", Precision::fp16, Layout::nt, "PINGPONG=1"},
    {"wgmma", Precision::fp16, Layout::nn, "CLUSTER_M=2 CLUSTER_N=2"},
    {"wgmma", Precision::bf16, Layout::nn, "SPLIT=4"},
    {"wgmma", Precision::bf16, Layout::tn, "SPLIT=4 REDUCE=1"},
    {"wgmma", Precision::tf32, Layout::nn, "PACK=1"},
    {"wgmma", Precision::tf32, Layout::tn, ""},
    {"wgmma", Precision::int8, Layout::tn, ""},
    {"wgmma", Precision::e4m3_bf16, Layout::tn, ""},
};

class GpuBatch : public test::GpuTest, public testing::WithParamInterface<test::KernelCase> {};

TEST_P(GpuBatch, EveryProductIsThatOfItsOwnOperands) {
  const auto& [name, precision, layout, settings] = GetParam();
  const Family& family = family_named(name);
  int runs = 0;
  for (const BatchShape& shape : kBatchShapes) {
    Fusion fusion{.batched = true};
    if (shape.scalars.beta == 1) fusion = {Activation::relu, Bias::per_row, false, true};
    const FusedBatch batch(precision, layout, shape.m, shape.n, shape.k, shape.scalars, shape.gaps, fusion,
                           shape.shares);
    const Problem& problem = batch.problem;
    const Config config = family.with_defaults(family.parse(settings), problem);
    if (!family.broken_rule(problem, config, device_).empty()) continue;
    const LaunchPlan plan = family.plan(problem, config, device_);
    ASSERT_EQ(why_unbatched(plan), "");
    const Source source =
        render(TemplateFiles::embedded(), family, problem, config, plan, target_.compute_capability, fusion);
    const Compilation compilation = nvrtc_->compile(source, TemplateFiles::embedded(), target_);
    ASSERT_TRUE(compilation.ok()) << compilation.log;
    const LoadedKernel kernel(compilation.cubin, plan);
    const BatchOperandsOnGpu on_gpu(batch);
    constexpr std::int64_t kProducts = FusedBatch::kProducts;
    const DeviceBuffer workspace(
        static_cast<std::size_t>(std::max<std::int64_t>(1, batch_workspace_bytes(plan, kProducts))));
    const FusedProduct& first = batch.products.front();
    Operands operands;
    operands.a = on_gpu.a.address();
    operands.b = on_gpu.b.address();
    operands.c = on_gpu.c.address();
    operands.ld = {first.a.ld(), first.b.ld(), first.c.ld()};
    operands.alpha = shape.scalars.alpha;
    operands.beta = shape.scalars.beta;
    operands.workspace = workspace.address();
    operands.bias = fusion.bias == Bias::none ? 0 : on_gpu.bias.address();
    operands.batch = Batch{kProducts, batch.step_bytes};
    launch(kernel, plan, problem, operands, nullptr);
    EXPECT_EQ(batch.complaint(on_gpu.c.image()), "") << to_string(problem) << ", " << to_string(fusion);
    ++runs;
  }
  if (runs == 0) GTEST_SKIP() << "this GPU cannot run the configuration";
}

INSTANTIATE_TEST_SUITE_P(GpuTogether, GpuBatch, testing::ValuesIn(kBatchCases), test::name_of_case);

/// The library with nothing tuned.
class GpuLibraryBatch : public test::GpuTest {
 protected:
  TemporaryDirectory directory_;
  test::ScopedEnv nothing_tuned_{"MMTUNE_DB", directory_.file("none.db").c_str()};
  test::ScopedEnv quiet_{"MMTUNE_LOG", "silent"};
};

TEST_F(GpuLibraryBatch, IsRightInOneLaunchAndInMany) {
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    for (const BatchShape& shape : kBatchShapes) {
      for (const bool prepares : {true, false}) {
        Library library = Library::open({.device = 0, .compile_missing = true});
        const FusedBatch batch(precision, Layout::nn, shape.m, shape.n, shape.k, shape.scalars, shape.gaps, {},
                               shape.shares);
        const BatchOperandsOnGpu on_gpu(batch);
        const FusedProduct& first = batch.products.front();
        const auto elements = [](std::uintptr_t step, const test::HostMatrix& of) {
          return static_cast<std::int64_t>(step / of.element_bytes());
        };
        const Gemm call{.precision = precision,
                        .m = shape.m,
                        .n = shape.n,
                        .k = shape.k,
                        .alpha = shape.scalars.alpha,
                        .a = on_gpu.a.pointer(),
                        .lda = first.a.ld(),
                        .b = on_gpu.b.pointer(),
                        .ldb = first.b.ld(),
                        .beta = shape.scalars.beta,
                        .c = on_gpu.c.pointer(),
                        .ldc = first.c.ld(),
                        .batch = FusedBatch::kProducts,
                        .stride_a = elements(batch.step_bytes.a, first.a),
                        .stride_b = elements(batch.step_bytes.b, first.b),
                        .stride_c = elements(batch.step_bytes.c, first.c)};
        if (prepares) library.prepare(std::array{call});
        const Answer answer = library.gemm(call, nullptr);
        EXPECT_EQ(batch.complaint(on_gpu.c.image()), "") << to_string(batch.problem) << ", " << answer.why;
      }
    }
  }
}

TEST_F(GpuLibraryBatch, MayBeLargerThanAGrid) {
  constexpr std::size_t kProducts = 70'000;
  std::vector<float> a(kProducts), c(kProducts);
  for (std::size_t i = 0; i < kProducts; ++i) a[i] = static_cast<float>(i);
  const float b = 3;
  const DeviceBuffer on_gpu_a(kProducts * sizeof(float)), on_gpu_b(sizeof(float)), on_gpu_c(kProducts * sizeof(float));
  test::upload(on_gpu_a.address(), a.data(), kProducts * sizeof(float));
  test::upload(on_gpu_b.address(), &b, sizeof(b));
  const auto pointer = [](const DeviceBuffer& of) { return reinterpret_cast<void*>(of.address()); };
  Library library = Library::open({.device = 0});
  const Gemm call{.m = 1,
                  .n = 1,
                  .k = 1,
                  .a = pointer(on_gpu_a),
                  .b = pointer(on_gpu_b),
                  .c = pointer(on_gpu_c),
                  .batch = kProducts,
                  .stride_a = 1,
                  .stride_c = 1};
  library.prepare(std::array{call});
  EXPECT_NE(library.gemm(call, nullptr).why.find("batched launches"), std::string::npos);
  MMTUNE_CUDA(cuCtxSynchronize());
  MMTUNE_CUDA(cuMemcpyDtoH(c.data(), on_gpu_c.address(), kProducts * sizeof(float)));
  for (std::size_t i = 0; i < kProducts; ++i) ASSERT_EQ(c[i], 3 * a[i]) << i;
}

}  // namespace
}  // namespace mmtune
