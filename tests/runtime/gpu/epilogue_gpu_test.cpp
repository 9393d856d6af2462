// Programs with an epilogue on a GPU: every family in the ways in which it stores results, tensor cores included, and
// both ways of the library.
#include <mmtune/mmtune.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gpu/launch.h"
#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/fused_product.h"
#include "tests/kernel_case.h"
#include "tests/runtime/gpu/image_on_gpu.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"
#include "tests/upload.h"

namespace mmtune {
namespace {

using test::FusedProduct;
using test::ImageOnGpu;
using test::KernelCase;

struct Shape {
  std::int64_t m, n, k;
  test::Scalars scalars = {};
  test::Gaps gaps = {};
};

constexpr Shape kShapes[] = {
    {33, 65, 17},
    {131, 261, 75, {.alpha = 1, .beta = -1}, {.padding = 3, .offset = 1}},
    {256, 264, 320, {.alpha = 2, .beta = 1}, {.padding = 16, .offset = 16}},
    {520, 136, 264, {.alpha = 1, .beta = 0}},
    {1, 67, 128, {.alpha = 1, .beta = 2}},
    {67, 1, 40},
    {144, 72, 0, {.alpha = 3, .beta = 2}},
};

constexpr auto kNn = Layout::nn, kNt = Layout::nt, kTn = Layout::tn, kTt = Layout::tt;
constexpr KernelCase kCases[] = {
    {"naive", Precision::fp32, kNn, ""},
    {"reference", Precision::fp64, kTt, ""},
    {"tiled", Precision::fp16, kTn, ""},
    {"tiled_coarsened", Precision::fp32, kNt, ""},
    {"simt", Precision::fp32, kNn, ""},
    {"simt", Precision::fp32, kTn, "SPLIT=4"},
    {"simt", Precision::fp32, kNt, "SPLIT=4 REDUCE=1"},
    {"simt", Precision::fp32, kNn, "LOAD=2 STAGES=4 STREAM=1"},
    {"simt", Precision::int32, kNn, ""},
    {"skinny", Precision::fp32, kNn, "SPLIT=4"},
    {"skinny", Precision::bf16, kNt, "SIDE=1"},
    {"mma_sync", Precision::fp16, kNn, ""},
    {"mma_sync", Precision::tf32, kTt, "SPLIT=2"},
    {"mma_sync", Precision::int8, kTn, ""},
    {"mma_sync", Precision::fp64, kNn, "STREAM=1"},
    {"wgmma", Precision::fp16, kNn, ""},
    {"wgmma", Precision::bf16, kTn, "SWAP=1"},
    {"wgmma", Precision::fp16_fp32, kTt, "SWAP=1"},
    {"wgmma", Precision::bf16_fp32, kNt, ""},
    {"wgmma", Precision::fp16, kNt, "PINGPONG=1"},
    {"wgmma", Precision::bf16, kNn, "SPLIT=4"},
    {"wgmma", Precision::bf16, kTn, "SPLIT=4 REDUCE=1"},
    {"wgmma", Precision::tf32, kTn, ""},
    {"wgmma", Precision::int8, kTn, ""},
    {"wgmma", Precision::e4m3_bf16, kTn, ""},
};

std::vector<Fusion> fusions_of(Precision precision) {
  std::vector<Fusion> fusions;
  for (const Fusion& fusion : test::all_fusions()) {
    if (fusion.activation == Activation::gelu && traits(precision).c.integer) continue;
    fusions.push_back(fusion);
  }
  return fusions;
}

class EpilogueCases : public test::NvrtcTest, public testing::WithParamInterface<KernelCase> {};

INSTANTIATE_TEST_SUITE_P(H200, EpilogueCases, testing::ValuesIn(kCases), test::name_of_case);

TEST_P(EpilogueCases, CompileWithoutAWarning) {
  const auto& [name, precision, layout, settings] = GetParam();
  const DeviceSpec& device = catalog_gpu("h200");
  const CompileTarget target = compile_target(device, nvrtc_->supported());
  const Family& family = family_named(name);
  const Problem problem = packed_problem(precision, layout, 256, 256, 320);
  const Config config = family.with_defaults(family.parse(settings), problem);
  ASSERT_EQ(family.broken_rule(problem, config, device), "");
  const Source source = render(TemplateFiles::embedded(), family, problem, config, family.plan(problem, config, device),
                               target.compute_capability, fusions_of(precision).back());
  const Compilation compilation = nvrtc_that_checks(name, target).compile(source, TemplateFiles::embedded(), target);
  EXPECT_TRUE(compilation.ok()) << compilation.log;
  EXPECT_EQ(compilation.log.find("warning"), std::string::npos) << compilation.log;
}

/// A product's operands on the GPU.
struct OnGpuProduct {
  explicit OnGpuProduct(const FusedProduct& of) : a(of.a), b(of.b), c(of.c), bias(of.bias) {
    const std::vector<char> image = of.scalars_image();
    scalars = DeviceBuffer(image.size());
    test::upload(scalars.address(), image.data(), image.size());
  }

  ImageOnGpu a, b, c, bias;
  DeviceBuffer scalars;
};

class GpuEpilogue : public test::GpuTest, public testing::WithParamInterface<KernelCase> {};

TEST_P(GpuEpilogue, IsComputedBeforeTheRounding) {
  const auto& [name, precision, layout, settings] = GetParam();
  const Family& family = family_named(name);
  const std::vector<Fusion> fusions = fusions_of(precision);
  std::size_t next = 0;  // one of them for each shape: each is a program to be compiled
  int runs = 0;
  for (const Shape& shape : kShapes) {
    Fusion fusion = fusions[next++ % fusions.size()];
    fusion.loads_scalars = next % 2 == 0;
    const FusedProduct product(precision, layout, shape.m, shape.n, shape.k, shape.scalars, shape.gaps, fusion);
    const Problem& problem = product.problem;
    const Config config = family.with_defaults(family.parse(settings), problem);
    if (!family.broken_rule(problem, config, device_).empty()) continue;
    const LaunchPlan plan = family.plan(problem, config, device_);
    const Source source =
        render(TemplateFiles::embedded(), family, problem, config, plan, target_.compute_capability, fusion);
    const Compilation compilation = nvrtc_->compile(source, TemplateFiles::embedded(), target_);
    ASSERT_TRUE(compilation.ok()) << compilation.log;
    const LoadedKernel kernel(compilation.cubin, plan);
    const OnGpuProduct on_gpu(product);
    const DeviceBuffer workspace(static_cast<std::size_t>(std::max<std::int64_t>(1, plan.workspace.bytes())));
    launch(kernel, plan, problem,
           {on_gpu.a.address(),
            on_gpu.b.address(),
            on_gpu.c.address(),
            {product.a.ld(), product.b.ld(), product.c.ld()},
            fusion.loads_scalars ? 1 : shape.scalars.alpha,
            fusion.loads_scalars ? 1 : shape.scalars.beta,
            workspace.address(),
            on_gpu.bias.address(),
            fusion.loads_scalars ? on_gpu.scalars.address() : 0,
            fusion.loads_scalars ? on_gpu.scalars.address() + FusedProduct::kBetaOffset : 0},
           nullptr);
    EXPECT_EQ(product.complaint(on_gpu.c.image()), "") << to_string(problem) << ", " << to_string(fusion);
    ++runs;
  }
  if (runs == 0) GTEST_SKIP() << "this GPU cannot run the configuration";
}

INSTANTIATE_TEST_SUITE_P(GpuTogether, GpuEpilogue, testing::ValuesIn(kCases), test::name_of_case);

/// The library with nothing tuned.
class GpuLibraryEpilogue : public test::GpuTest {
 protected:
  static constexpr Precision kPrecision = Precision::fp32;

  static Library open() { return Library::open({.device = 0, .compile_missing = true}); }

  /// Whether a call for the product is right; `prepares` lets one kernel run it.
  static void expect_right(Library& library, const Shape& shape, const Fusion& fusion, Order order, bool prepares) {
    const bool by_rows = order == Order::row_major;
    // The transposed product, where columns are contiguous: what the test compares with has rows.
    Fusion of_rows = fusion;
    if (!by_rows && fusion.bias != Bias::none) {
      of_rows.bias = fusion.bias == Bias::per_row ? Bias::per_column : Bias::per_row;
    }
    const FusedProduct product(kPrecision, kNn, shape.m, shape.n, shape.k, shape.scalars, shape.gaps, of_rows);
    const OnGpuProduct on_gpu(product);
    Gemm call{
        .precision = kPrecision,
        .m = by_rows ? shape.m : shape.n,
        .n = by_rows ? shape.n : shape.m,
        .k = shape.k,
        .alpha = shape.scalars.alpha,
        .a = (by_rows ? on_gpu.a : on_gpu.b).pointer(),
        .lda = (by_rows ? product.a : product.b).ld(),
        .b = (by_rows ? on_gpu.b : on_gpu.a).pointer(),
        .ldb = (by_rows ? product.b : product.a).ld(),
        .beta = shape.scalars.beta,
        .c = on_gpu.c.pointer(),
        .ldc = product.c.ld(),
        .order = order,
        .epilogue = {fusion.activation, fusion.bias, fusion.bias == Bias::none ? nullptr : on_gpu.bias.pointer()}};
    if (prepares) library.prepare(std::array{call});
    const Answer answer = library.gemm(call, nullptr);
    EXPECT_EQ(product.complaint(on_gpu.c.image()), "")
        << shape.m << 'x' << shape.n << 'x' << shape.k << ", " << to_string(fusion) << ", " << answer.why;
  }

  TemporaryDirectory directory_;
  test::ScopedEnv nothing_tuned_{"MMTUNE_DB", directory_.file("none.db").c_str()};
  test::ScopedEnv quiet_{"MMTUNE_LOG", "silent"};
};

TEST_F(GpuLibraryEpilogue, IsRightInEitherOrderWithAndWithoutPreparing) {
  for (const bool prepares : {true, false}) {
    Library library = open();
    for (const Fusion& fusion : fusions_of(kPrecision)) {
      for (const Shape& shape : {kShapes[0], kShapes[1]}) {
        for (const Order order : {Order::row_major, Order::column_major}) {
          expect_right(library, shape, fusion, order, prepares);
        }
      }
    }
  }
}

TEST_F(GpuLibraryEpilogue, IsRightByASecondKernel) {
  for (const Fusion& fusion : fusions_of(kPrecision)) {
    const Shape shape{67, 131, 35, {.alpha = 1, .beta = -1}, {.padding = 3, .offset = 1}};
    const FusedProduct product(kPrecision, kNn, shape.m, shape.n, shape.k, shape.scalars, shape.gaps, fusion);
    const OnGpuProduct on_gpu(product);
    const Problem& problem = product.problem;
    const Family& family = family_named("naive");
    const Config config = family.default_config(problem);
    const LaunchPlan plain = family.plan(problem, config, device_), finish = finish_plan(problem);
    const int capability = target_.compute_capability;
    const TemplateFiles& files = TemplateFiles::embedded();
    const Operands operands{on_gpu.a.address(),
                            on_gpu.b.address(),
                            on_gpu.c.address(),
                            {product.a.ld(), product.b.ld(), product.c.ld()},
                            shape.scalars.alpha,
                            shape.scalars.beta,
                            0,
                            on_gpu.bias.address()};
    const auto run = [&](const Source& source, const LaunchPlan& plan) {
      const Compilation compilation = nvrtc_->compile(source, files, target_);
      ASSERT_TRUE(compilation.ok()) << compilation.log;
      launch(LoadedKernel(compilation.cubin, plan), plan, problem, operands, nullptr);
      MMTUNE_CUDA(cuCtxSynchronize());
    };
    run(render(files, family, problem, config, plain, capability), plain);
    run(render_finish(files, problem, capability, fusion), finish);
    EXPECT_EQ(product.complaint(on_gpu.c.image()), "") << to_string(fusion);
  }
}

}  // namespace
}  // namespace mmtune
