// Kernels that state the same summation give the same bits, whatever their tiles, families, and operands' places; one
// that states another gives others. Operands are random, so that the order of additions shows in sums of fp32.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string_view>
#include <vector>

#include "templates/family/families.h"
#include "templates/family/render.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

using test::Values;

struct StatedKernel {
  std::string_view family;
  std::string_view config;
};

struct SummationCase {
  std::string_view name;
  Precision precision;
  Layout layout;
  std::vector<StatedKernel> alike;
  StatedKernel other;  ///< none where elements have too few bits for sums of fp32 to be rounded
  Scene scene = {"wide and deep", 40, 72, 528, Values::wide, {.alpha = 0.75, .beta = -0.5}};
};

std::ostream& operator<<(std::ostream& out, const SummationCase& of) { return out << of.name; }

const std::vector<SummationCase>& summation_cases() {
  static const std::vector<SummationCase> all = {
      {"bf16",
       Precision::bf16_fp32,
       Layout::nt,
       {{"wgmma", "BM=64 BN=64 CONSUMERS=1"},
        {"wgmma", "BM=128 BN=128 CONSUMERS=2"},
        {"wgmma", "BM=16 BN=64 CONSUMERS=1 SWAP=1"},
        {"mma_sync", "BM=32 BN=32 WM=16 WN=16"},
        {"mma_sync", "BM=64 BN=64 BK_BYTES=128"}},
       {"wgmma", "BM=64 BN=64 CONSUMERS=1 SPLIT=2"}},
      {"bf16_in_two_parts",
       Precision::bf16_fp32,
       Layout::nt,
       {{"wgmma", "BM=64 BN=64 CONSUMERS=1 SPLIT=2"},
        {"wgmma", "BM=64 BN=64 CONSUMERS=1 OWN_PARTS=2"},
        {"wgmma", "BM=64 BN=64 OWN_PARTS=2 PINGPONG=1"},
        {"wgmma", "BM=16 BN=64 CONSUMERS=1 SWAP=1 SPLIT=2 REDUCE=1"},
        {"mma_sync", "BM=32 BN=32 WM=16 WN=16 BK_BYTES=128 SPLIT=2"}},
       {"wgmma", "BM=64 BN=64 CONSUMERS=1"}},
      {"bf16_of_odd_rows",
       Precision::bf16_fp32,
       Layout::nt,
       {{"mma_sync", "BM=32 BN=32 WM=16 WN=16"},
        {"mma_sync", "BM=64 BN=64 BK_BYTES=128 PACK=1"},
        {"mma_sync", "BM=32 BN=64 WM=16 PACK=2"},
        {"wgmma", "BM=64 BN=64 CONSUMERS=1 PACK=1"}},
       {"mma_sync", "BM=64 BN=64 BK_BYTES=128 SPLIT=2"},
       {"odd and deep", 41, 71, 527, Values::wide}},
      {"tf32",
       Precision::tf32,
       Layout::nt,
       {{"wgmma", "BM=64 BN=64 CONSUMERS=1"}, {"wgmma", "BM=32 BN=64 CONSUMERS=1 SWAP=1"}},
       {"wgmma", "BM=64 BN=64 CONSUMERS=1 SPLIT=2 REDUCE=1"}},
      {"tf32_in_two_parts",
       Precision::tf32,
       Layout::tn,
       {{"wgmma", "BM=64 BN=64 CONSUMERS=1 SWAP=0 SPLIT=2"}, {"wgmma", "BM=64 BN=64 CONSUMERS=1 SWAP=0 OWN_PARTS=2"}},
       {"wgmma", "BM=64 BN=64 CONSUMERS=1 SWAP=0"}},
      {"e4m3",
       Precision::e4m3_fp32,
       Layout::nt,
       {{"wgmma", "BM=64 BN=64 CONSUMERS=1"}, {"wgmma", "BM=128 BN=64 CONSUMERS=2"}},
       {}},
      {"fp64",
       Precision::fp64,
       Layout::nn,
       {{"mma_sync", "BM=32 BN=32 WM=16 WN=16"}, {"mma_sync", "BM=64 BN=64 WM=32 WN=32"}},
       {"mma_sync", "BM=32 BN=32 WM=16 WN=16 SPLIT=4"}},
      {"fp32",
       Precision::fp32,
       Layout::nn,
       {{"naive", ""},
        {"tiled", "TILE=16"},
        {"tiled_coarsened", "TILE=8 CM=1 CN=2"},
        {"simt", "BM=32 BN=32 TM=4 TN=4"},
        {"simt", "LOAD=1 STAGES=3 BM=32 BK=16 TM=4"},
        {"simt", "LOAD=2 STAGES=4 BN=32 GROUP=1"},
        {"skinny", "SIDE=0 FEW=4 OWN=1 UNROLL=4 WARPS=4 WARPS_K=1"}},
       {"simt", "BM=32 BN=32 TM=4 TN=4 SPLIT=4"}},
      {"fp32_in_one_order", Precision::fp32, Layout::nn, {{"naive", ""}}, {"simt", "BK=16 TN=8 WARPS_K=2"}},
      {"fp32_in_two_parts",
       Precision::fp32,
       Layout::nt,
       {{"simt", "BM=32 BN=32 BK=16 TM=4 TN=4 SPLIT=2"},
        {"simt", "BM=32 BN=64 BK=16 SPLIT=2 REDUCE=1"},
        {"simt", "BK=16 CUT=1"},
        {"simt", "LOAD=3 STAGES=3 BM=32 BK=16 TM=4 CUT=1"},
        {"skinny", "SIDE=0 FEW=2 OWN=1 UNROLL=4 WARPS=4 WARPS_K=1 NARROW=1 STAGES=3 LANES=1 SPLIT=2"},
        {"skinny", "SIDE=0 FEW=1 OWN=2 UNROLL=4 WARPS=4 WARPS_K=2 NARROW=1 STAGES=4 LANES=1"},
        {"skinny", "SIDE=1 FEW=8 OWN=2 UNROLL=4 WARPS=4 WARPS_K=1 NARROW=1 STAGES=2 LANES=1 SPLIT=2"}},
       {"skinny", "SIDE=0 FEW=2 OWN=1 UNROLL=1 WARPS=4 WARPS_K=1 NARROW=1 STAGES=3 LANES=8 SPLIT=2"}},
  };
  return all;
}

class EqualSummations : public testing::TestWithParam<SummationCase> {};

TEST_P(EqualSummations, GiveEqualBits) {
  const SummationCase& of = GetParam();
  const Product product(of.scene, of.precision, of.layout);
  Problem invariant = product.problem();
  invariant.invariant = true;

  const auto stage_of = [&](const StatedKernel& kernel) {
    return Stage(family_named(kernel.family), kernel.config, product.problem());
  };
  const auto summation_of = [&](const Stage& stage) {
    EXPECT_TRUE(stage.can_run(product.problem())) << stage.name();
    const bool keeps_order =
        stage.family().summation(invariant, stage.config(), device()) == invariant_summation(invariant, device());
    EXPECT_EQ(stage.can_run(invariant), keeps_order) << stage.name();
    return stage.family().summation(product.problem(), stage.config(), device());
  };
  Stage first = stage_of(of.alike.front());
  const Summation stated = summation_of(first);
  const std::vector<char> expected = first.bytes(product, Order::random, first.name());
  for (std::size_t i = 1; i < of.alike.size(); ++i) {
    Stage stage = stage_of(of.alike[i]);
    EXPECT_EQ(summation_of(stage), stated) << stage.name();
    EXPECT_TRUE(stage.bytes(product, Order::random, stage.name()) == expected) << stage.name();
  }

  if (of.other.family.empty()) return;
  Stage other = stage_of(of.other);
  EXPECT_NE(summation_of(other), stated);
  EXPECT_FALSE(other.bytes(product, Order::random, other.name()) == expected)
      << "these operands do not tell orders apart";
}

/// Its parts are a stage longer than it states, and its result is as exact as it was.
void find_longer_parts(Precision precision, const StatedKernel& kernel) {
  constexpr Scene kScene{"deep", 40, 72, 528, Values::wide};
  const Product product(kScene, precision, Layout::nt);
  const Family& family = family_named(kernel.family);
  const Config config = family.with_defaults(family.parse(kernel.config), product.problem());
  LaunchPlan plan = family.plan(product.problem(), config, device());
  const Program program(render(kernel_sources(), family, product.problem(), config, plan, compute_capability(device())),
                        plan, kernel_sources());
  const auto bytes = [&] { return product.bytes(program, plan, Order::random, "parts"); };
  const std::vector<char> right = bytes();
  auto& args = plan.steps.front().args;
  const auto k_tiles = std::find_if(args.begin(), args.end(), [](const Arg& a) { return a.parameter == "k_tiles"; });
  ASSERT_NE(k_tiles, args.end());
  k_tiles->value += 1;
  EXPECT_FALSE(bytes() == right);
  EXPECT_EQ(product.run(program, plan, Order::random, "parts"), "");
}

TEST(EqualSummations, AKernelThatStatesAnotherIsFound) {
  find_longer_parts(Precision::bf16_fp32, {"wgmma", "BM=64 BN=64 CONSUMERS=1 OWN_PARTS=2"});
  find_longer_parts(Precision::fp32, {"simt", "BM=32 BN=64 BK=16 CUT=1"});
}

INSTANTIATE_TEST_SUITE_P(Kernels, EqualSummations, testing::ValuesIn(summation_cases()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace mmtune::shim
