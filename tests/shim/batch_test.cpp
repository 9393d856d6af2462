// Programs for a batch on the host: every family in the ways in which it finds operands, stores results and uses the
// workspace.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gpu/launch.h"
#include "templates/family/families.h"
#include "tests/fused_product.h"
#include "tests/kernel_case.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

using test::FusedBatch;

struct BatchCase {
  std::string_view family;
  Precision precision;
  Layout layout;
  std::string_view settings;  ///< the settings that are not the default
  FusedBatch::Shares shares;
  Scene scene;
  Fusion fusion = {};
};

std::ostream& operator<<(std::ostream& out, const BatchCase& of) {
  return out << test::text_of_case(of) << ", " << of.scene.what << ' ' << to_string(of.fusion);
}

std::vector<BatchCase> batch_cases() {
  using Shares = FusedBatch::Shares;
  constexpr Scene kOdd{"odd", 33, 65, 17};
  constexpr Scene kGaps{"odd gaps", 35, 67, 18, test::Values::whole, {.alpha = 1, .beta = -1}, {3, 1}};
  constexpr Scene kWide{"wide gaps", 40, 72, 136, test::Values::whole, {.alpha = 2, .beta = 1}, {16, 16}};
  constexpr Scene kNoDepth{"no depth", 33, 40, 0, test::Values::whole, {.alpha = 3, .beta = 2}};

  constexpr auto kFp32 = Precision::fp32, kFp64 = Precision::fp64, kFp16 = Precision::fp16;
  constexpr auto kNn = Layout::nn, kNt = Layout::nt, kTn = Layout::tn, kTt = Layout::tt;
  constexpr Fusion kRows{Activation::relu, Bias::per_row, true}, kColumns{Activation::none, Bias::per_column};

  return {
      {"naive", kFp32, kNn, "MAPPING=3 BX=8 BY=4 COARSE=4", Shares::nothing, kOdd},
      {"naive", Precision::e4m3_bf16, kTn, "", Shares::a, kGaps, kColumns},
      {"reference", kFp32, kTt, "", Shares::b, kGaps},
      {"tiled", kFp64, kTn, "TILE=16", Shares::nothing, kGaps},
      {"tiled_coarsened", kFp16, kNt, "TILE=8 CM=1 CN=2", Shares::a, kOdd},
      {"simt", kFp32, kNn, "BM=32 BN=32 TM=4 TN=4", Shares::b, kGaps, kRows},
      {"simt", Precision::int32, kTt, "BM=32 BN=32 TM=4 TN=4", Shares::nothing, kNoDepth},
      {"simt", kFp32, kNt, "BM=32 BN=32 TM=4 TN=4 SPLIT=4", Shares::nothing, kWide, kColumns},
      {"simt", kFp32, kTn, "BM=32 BN=32 TM=4 TN=4 SPLIT=4 REDUCE=1", Shares::nothing, kWide},
      {"simt", kFp32, kNt, "BM=32 BN=32 TM=4 TN=4 LOAD=1 PACK=1", Shares::nothing, kGaps},
      {"simt", kFp32, kNn, "WARPS_K=2 BM=32 BN=32 BK=16 TM=4 TN=8 LANES_N=4 SPLIT=2", Shares::b, kGaps, kRows},
      {"simt", kFp32, kTn, "BM=32 BN=32 TM=4 TN=4 LOAD=2", Shares::a, kWide},
      {"simt", kFp32, kTt, "BM=32 BN=32 TM=4 TN=4 LOAD=2 STAGES=3 PACK=1", Shares::a, kGaps},
      {"skinny", Precision::bf16, kNn, "SIDE=0 FEW=4 OWN=2 UNROLL=2 WARPS=4 WARPS_K=2 SPLIT=4", Shares::a, kWide},
      {"skinny", kFp32, kNt, "SIDE=1 FEW=8 OWN=2 UNROLL=1 WARPS=4 WARPS_K=2", Shares::nothing, kGaps},
      {"mma_sync", kFp16, kTn, "SPLIT=2", Shares::nothing, kWide},
      {"mma_sync", Precision::bf16, kNn, "", Shares::nothing, kOdd},
      {"mma_sync", kFp16, kNt, "PACK=1 SPLIT=2", Shares::a, kGaps},
      {"wgmma", kFp16, kNn, "", Shares::nothing, kWide},
      {"wgmma", Precision::bf16, kTn, "SWAP=1 BM=32 BN=64 CONSUMERS=1 CLUSTER_M=2", Shares::a, kWide, kRows},
      {"wgmma", kFp16, kNt, "BM=64 BN=64 CONSUMERS=1 SPLIT=2", Shares::b, kWide},
      {"wgmma", Precision::tf32, kTn, "BM=64 BN=64 CONSUMERS=1 PACK=1", Shares::nothing, kGaps, kColumns},
      {"wgmma_bf16x3", Precision::bf16_x_fp32, kNt, "BM=64 BN=64 CONSUMERS=1 SWAP=1", Shares::b, kWide, kColumns},
  };
}

class BatchOnTheHost : public testing::TestWithParam<BatchCase> {};

TEST_P(BatchOnTheHost, EveryProductIsThatOfItsOwnOperands) {
  const auto& [name, precision, layout, settings, shares, scene, epilogue] = GetParam();
  const Family& family = family_named(name);
  Fusion fusion = epilogue;
  fusion.batched = true;
  const FusedBatch batch(precision, layout, scene.m, scene.n, scene.k, scene.scalars, scene.gaps, fusion, shares);
  const Problem& problem = batch.problem;
  const Config config = family.with_defaults(family.parse(settings), problem);
  ASSERT_EQ(family.broken_rule(problem, config, device()), "");
  const LaunchPlan plan = family.plan(problem, config, device());
  ASSERT_EQ(why_unbatched(plan), "");
  const Source source = render(kernel_sources(), family, problem, config, plan, compute_capability(device()), fusion);
  if (const std::string beyond = beyond_the_host(source, kernel_sources()); !beyond.empty()) GTEST_SKIP() << beyond;

  constexpr int kProducts = FusedBatch::kProducts;
  const auto filled = [](Memory& memory, const std::vector<char>& image) {
    std::copy(image.begin(), image.end(), memory.data());
    return memory.address();
  };
  using test::FusedProduct;
  const FusedProduct& first = batch.products.front();
  const std::vector<char> image_a = batch.image(&FusedProduct::a, batch.step_bytes.a),
                          image_b = batch.image(&FusedProduct::b, batch.step_bytes.b),
                          image_c = batch.image(&FusedProduct::c, batch.step_bytes.c);
  const MatrixMemory bias(first.bias);
  Memory a(image_a.size()), b(image_b.size()), c(image_c.size()), scalars(2 * FusedProduct::kBetaOffset),
      workspace(static_cast<std::size_t>(batch_workspace_bytes(plan, kProducts)));
  const CUdeviceptr alpha = filled(scalars, first.scalars_image());
  Operands operands{filled(a, image_a) + first.a.offset_bytes(),
                    filled(b, image_b) + first.b.offset_bytes(),
                    filled(c, image_c) + first.c.offset_bytes(),
                    {first.a.ld(), first.b.ld(), first.c.ld()},
                    fusion.loads_scalars ? 1 : scene.scalars.alpha,
                    fusion.loads_scalars ? 1 : scene.scalars.beta,
                    workspace.address(),
                    fusion.bias == Bias::none ? 0 : bias.address(),
                    fusion.loads_scalars ? alpha : 0,
                    fusion.loads_scalars ? alpha + FusedProduct::kBetaOffset : 0,
                    Batch{kProducts, batch.step_bytes}};
  launch(Program(source, plan, kernel_sources()), plan, problem, operands, Order::random, scene.what);
  EXPECT_EQ(batch.complaint({c.data(), c.data() + c.bytes()}), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, BatchOnTheHost, testing::ValuesIn(batch_cases()), test::name_of_case);

}  // namespace
}  // namespace mmtune::shim
