// Kernels that state the same summation give the same bits, whatever their tiles, families, and operands' places; one
// that cuts k gives others. Operands are random, so that the order of additions shows in sums of fp32.
#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

#include "templates/family/families.h"
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
  StatedKernel cut;  ///< none where elements have too few bits for sums of fp32 to be rounded
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
      {"tf32",
       Precision::tf32,
       Layout::nt,
       {{"wgmma", "BM=64 BN=64 CONSUMERS=1"}, {"wgmma", "BM=32 BN=64 CONSUMERS=1 SWAP=1"}},
       {"wgmma", "BM=64 BN=64 CONSUMERS=1 SPLIT=2 REDUCE=1"}},
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
        {"simt", "LOAD=2 STAGES=4 BN=32 GROUP=1"}},
       {"simt", "BM=32 BN=32 TM=4 TN=4 SPLIT=4"}},
  };
  return all;
}

class EqualSummations : public testing::TestWithParam<SummationCase> {};

TEST_P(EqualSummations, GiveEqualBits) {
  const SummationCase& of = GetParam();
  constexpr Scene kScene{"wide and deep", 40, 72, 528, Values::wide, {.alpha = 0.75, .beta = -0.5}};
  const Product product(kScene, of.precision, of.layout);
  Problem invariant = product.problem();
  invariant.invariant = true;

  const auto stage_of = [&](const StatedKernel& kernel) {
    return Stage(family_named(kernel.family), kernel.config, product.problem());
  };
  std::optional<std::vector<char>> first;
  for (const StatedKernel& kernel : of.alike) {
    Stage stage = stage_of(kernel);
    ASSERT_TRUE(stage.can_run(invariant)) << explain(stage.family(), invariant, stage.config(), device());
    const std::vector<char> bytes = stage.bytes(product, Order::random, stage.name());
    if (!first) first = bytes;
    EXPECT_TRUE(bytes == *first) << stage.name();
  }

  if (of.cut.family.empty()) return;
  Stage cut = stage_of(of.cut);
  ASSERT_TRUE(cut.can_run(product.problem()));
  EXPECT_FALSE(cut.can_run(invariant));
  EXPECT_FALSE(cut.bytes(product, Order::random, cut.name()) == *first) << "these operands do not tell orders apart";
}

INSTANTIATE_TEST_SUITE_P(Kernels, EqualSummations, testing::ValuesIn(summation_cases()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace mmtune::shim
