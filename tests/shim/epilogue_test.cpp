// Programs with an epilogue on the host: every family that it can run, in the configurations that store results in
// different ways, and the kernel that gives a plain product its epilogue.
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "templates/family/families.h"
#include "tests/fused_product.h"
#include "tests/kernel_case.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

using test::all_fusions;
using test::FusedProduct;
using test::Values;

constexpr Scene kScenes[] = {
    {"odd, C is not read", 33, 65, 17},
    {"odd gaps", 67, 131, 35, Values::whole, {.alpha = 1, .beta = -1}, {.padding = 3, .offset = 1}},
    {"a row", 1, 67, 9, Values::whole, {.alpha = 2, .beta = 1}},
    {"a column", 67, 1, 31},
    {"wide gaps", 40, 72, 264, Values::whole, {.alpha = 1, .beta = 2}, {.padding = 16, .offset = 16}},
    {"no depth, wide gaps", 33, 40, 0, Values::whole, {.alpha = 3, .beta = 2}, {.padding = 16, .offset = 16}},
    {"wide", 72, 136, 80, Values::whole, {.alpha = 2}},
    {"whole lines", 24, 48, 16, Values::whole, {.alpha = -1, .beta = 1}},
};

/// Calls run(operands) and returns what is wrong with C then, or nothing.
template <class Run>
std::string complaint_after(const FusedProduct& product, const Scene& scene, const Fusion& fusion,
                            std::int64_t workspace_bytes, const Run& run) {
  const MatrixMemory a(product.a), b(product.b), c(product.c), bias(product.bias);
  const Memory workspace(static_cast<std::size_t>(workspace_bytes)), scalars(2 * FusedProduct::kBetaOffset);
  const std::vector<char> image = product.scalars_image();
  std::copy(image.begin(), image.end(), scalars.data());
  run(Operands{a.address(),
               b.address(),
               c.address(),
               {product.a.ld(), product.b.ld(), product.c.ld()},
               fusion.loads_scalars ? 1 : scene.scalars.alpha,
               fusion.loads_scalars ? 1 : scene.scalars.beta,
               workspace.address(),
               fusion.bias == Bias::none ? 0 : bias.address(),
               fusion.loads_scalars ? scalars.address() : 0,
               fusion.loads_scalars ? scalars.address() + FusedProduct::kBetaOffset : 0});
  return product.complaint(c.image());
}

FusedProduct product_of(const Scene& scene, Precision precision, Layout layout, const Fusion& fusion) {
  return {precision, layout, scene.m, scene.n, scene.k, scene.scalars, scene.gaps, fusion};
}

struct FusedCase {
  std::string_view family;
  Precision precision;
  Layout layout;
  std::string_view settings;  ///< the settings that are not the default
  Fusion fusion;
};

std::ostream& operator<<(std::ostream& out, const FusedCase& of) {
  return out << test::text_of_case(of) << ", " << to_string(of.fusion);
}

/// Every way to store results, each with one of two fusions in turn, the first if `turn` is even.
std::vector<FusedCase> every_store(std::size_t turn) {
  constexpr auto kFp32 = Precision::fp32, kFp64 = Precision::fp64, kFp16 = Precision::fp16;
  constexpr auto kNn = Layout::nn, kNt = Layout::nt, kTn = Layout::tn, kTt = Layout::tt;
  constexpr Fusion kRows{Activation::gelu, Bias::per_row}, kColumns{Activation::relu, Bias::per_column};
  constexpr test::KernelCase kKernels[] = {
      {"naive", kFp32, kNn, "MAPPING=3 BX=8 BY=4 COARSE=4"},
      {"reference", kFp32, kTt, ""},
      {"tiled", kFp64, kTn, "TILE=16"},
      {"tiled_coarsened", kFp16, kNt, "TILE=8 CM=1 CN=2"},
      {"simt", kFp32, kNt, "BM=32 BN=32 TM=4 TN=4 SPLIT=4"},
      {"simt", kFp32, kTn, "BM=32 BN=32 TM=4 TN=4 SPLIT=4 REDUCE=1"},
      {"simt", kFp32, kTt, "STREAM=1 BM=32 TM=4"},
      {"simt", kFp32, kNn, "WARPS_K=2 BM=32 BN=32 BK=16 TM=4 TN=8 LANES_N=4"},
      {"skinny", kFp32, kNn, "SIDE=0 FEW=4 OWN=2 UNROLL=2 WARPS=4 WARPS_K=2 SPLIT=4"},
      {"skinny", kFp32, kNt, "SIDE=1 FEW=8 OWN=2 UNROLL=1 WARPS=4 WARPS_K=2"},
      {"mma_sync", Precision::bf16, kTn, ""},
      {"mma_sync", kFp16, kTt, "BM=64 BN=32 BK_BYTES=128 WM=32 WN=16 STAGES=3 SPLIT=4"},
      {"mma_sync", kFp16, kNt, "STREAM=1 BM=32 BN=32 BK_BYTES=32 WM=16 WN=16"},
      {"wgmma", kFp16, kNn, ""},
      {"wgmma", Precision::bf16, kTn, "SWAP=1 BM=32 BN=64 CONSUMERS=1"},
      {"wgmma", Precision::bf16_fp32, kNt, "BM=64 BN=64 PINGPONG=1"},
      {"wgmma", Precision::bf16, kNt, "BM=64 BN=24 CONSUMERS=1"},
      {"wgmma", kFp16, kNt, "BM=64 BN=64 CONSUMERS=1 SPLIT=2"},
      {"wgmma", kFp16, kTt, "BM=64 BN=64 CONSUMERS=1 SPLIT=2 REDUCE=1"},
  };
  std::vector<FusedCase> cases;
  for (const auto& [family, precision, layout, settings] : kKernels) {
    cases.push_back({family, precision, layout, settings, turn++ % 2 == 0 ? kRows : kColumns});
  }
  return cases;
}

/// Every way to store results, all epilogues with one of them, and scalars in memory.
std::vector<FusedCase> fused_cases() {
  constexpr auto kFp32 = Precision::fp32, kFp64 = Precision::fp64, kFp16 = Precision::fp16;
  constexpr auto kNn = Layout::nn, kNt = Layout::nt, kTn = Layout::tn, kTt = Layout::tt;
  std::vector<FusedCase> cases = every_store(0);
  for (const Fusion& fusion : all_fusions()) cases.push_back({"simt", kFp32, kNn, "BM=32 BN=32 TM=4 TN=4", fusion});
  for (const Fusion& fusion : {Fusion{Activation::relu, Bias::per_column}, Fusion{Activation::none, Bias::per_row}}) {
    cases.push_back({"simt", Precision::int32, kNn, "BM=32 BN=32 TM=4 TN=4", fusion});
    cases.push_back({"mma_sync", Precision::int8, kNt, "", fusion});
  }
  // Scalars in memory: one for each function that stores results.
  constexpr Fusion kLoaded{.loads_scalars = true}, kAll{Activation::relu, Bias::per_row, true};
  cases.push_back({"naive", kFp32, kNn, "", kLoaded});
  cases.push_back({"naive", kFp64, kTt, "", kAll});
  cases.push_back({"simt", kFp32, kNn, "BM=32 BN=32 TM=4 TN=4", kLoaded});
  cases.push_back({"simt", Precision::int32, kNt, "BM=32 BN=32 TM=4 TN=4 SPLIT=4", kAll});
  cases.push_back({"mma_sync", kFp16, kTn, "", kLoaded});
  cases.push_back({"wgmma", kFp16, kTn, "BM=64 BN=64 CONSUMERS=1", kAll});
  return cases;
}

class EpilogueOnTheHost : public testing::TestWithParam<FusedCase> {};

TEST_P(EpilogueOnTheHost, IsComputedBeforeTheRounding) {
  const auto& [name, precision, layout, settings, fusion] = GetParam();
  const Family& family = family_named(name);
  std::map<std::string, Program> programs;
  int runs = 0;
  for (const Scene& scene : kScenes) {
    const FusedProduct product = product_of(scene, precision, layout, fusion);
    const Problem& problem = product.problem;
    const Problem defaults = settings.empty() ? problem : packed_problem(precision, layout, 16, 64, 64);
    const Config config = family.with_defaults(family.parse(settings), defaults);
    if (!family.broken_rule(problem, config, device()).empty()) continue;
    const LaunchPlan plan = family.plan(problem, config, device());
    const Source source = render(kernel_sources(), family, problem, config, plan, compute_capability(device()), fusion);
    if (const std::string beyond = beyond_the_host(source, kernel_sources()); !beyond.empty()) GTEST_SKIP() << beyond;
    auto program = programs.find(source.hash);
    if (program == programs.end()) {
      program = programs.emplace(source.hash, Program(source, plan, kernel_sources())).first;
    }
    const auto order = static_cast<Order>(runs++ % 3);
    EXPECT_EQ(complaint_after(product, scene, fusion, plan.workspace.bytes(),
                              [&](const Operands& operands) {
                                launch(program->second, plan, problem, operands, order, scene.what);
                              }),
              "")
        << scene.what;
  }
  EXPECT_GE(runs, 3) << "not every order of threads was seen";
}

INSTANTIATE_TEST_SUITE_P(Kernels, EpilogueOnTheHost, testing::ValuesIn(fused_cases()), test::name_of_case);
INSTANTIATE_TEST_SUITE_P(Thorough, EpilogueOnTheHost, testing::ValuesIn(every_store(1)), test::name_of_case);

TEST(EpilogueAfterTheProduct, IsThatOfOneKernelWhereTheProductIsNotRounded) {
  const Family& family = family_named("naive");
  for (const Fusion& fusion : all_fusions()) {
    for (const Scene& scene : kScenes) {
      const FusedProduct product = product_of(scene, Precision::fp32, Layout::nn, fusion);
      const Problem& problem = product.problem;
      const Config config = family.default_config(problem);
      const int capability = compute_capability(device());
      const LaunchPlan plain = family.plan(problem, config, device()), finish = finish_plan(problem);
      EXPECT_EQ(plan_fault(finish), "");
      const Source source = render(kernel_sources(), family, problem, config, plain, capability);
      const Source second = render_finish(kernel_sources(), problem, capability, fusion);
      static std::map<std::string, Program> programs;
      const auto program = [&](const Source& of, const LaunchPlan& plan) -> const Program& {
        const auto found = programs.find(of.hash);
        if (found != programs.end()) return found->second;
        return programs.emplace(of.hash, Program(of, plan, kernel_sources())).first->second;
      };
      EXPECT_EQ(complaint_after(product, scene, fusion, plain.workspace.bytes(),
                                [&](const Operands& operands) {
                                  launch(program(source, plain), plain, problem, operands, Order::forward, scene.what);
                                  launch(program(second, finish), finish, problem, operands, Order::forward,
                                         scene.what);
                                }),
                "")
          << scene.what << ", " << to_string(fusion);
    }
  }
}

}  // namespace
}  // namespace mmtune::shim
