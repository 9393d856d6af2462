#include "templates/family/summation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

using Adder = Summation::Adder;

TEST(Summation, IsEqualOnlyWhereItIsStatedAndCutAlike) {
  const Summation stated{.adder = Adder::tensor, .step = 16};
  EXPECT_EQ(stated, stated);
  EXPECT_NE(stated, (Summation{.adder = Adder::tensor, .step = 8}));
  EXPECT_NE(stated, (Summation{.adder = Adder::tensor, .step = 16, .part = 256}));
  EXPECT_NE((Summation{.adder = Adder::tensor, .step = 16, .part = 128}),
            (Summation{.adder = Adder::tensor, .step = 16, .part = 256}));
  EXPECT_NE(Summation{}, Summation{});
}

TEST(Summation, OfPartsIsTheSameForAllStagesOnlyWhereItMustBe) {
  Problem problem = packed_problem(Precision::bf16, Layout::nt, 1, 1, 1100);  // It is no multiple of any stage.
  EXPECT_EQ(summed_part(problem, 2, 32), 576);
  EXPECT_EQ(summed_part(problem, 2, 64), 576);
  EXPECT_EQ(summed_part(problem, 2, 128), 640);
  EXPECT_EQ(summed_part(problem, 1, 64), 0);
  problem.invariant = true;
  for (const int bk : {16, 32, 64, 128}) EXPECT_EQ(summed_part(problem, 2, bk), 640);
  problem.k = 100;
  EXPECT_EQ(summed_part(problem, 2, 64), 0) << "one part has all of it";
}

TEST(Summation, OfInvariantProductsIsThatOfTheFastestUnit) {
  const DeviceSpec h200 = catalog_gpu("h200"), t4 = catalog_gpu("t4"), k20c = catalog_gpu("k20c");
  const auto text = [](Precision precision, const DeviceSpec& device, std::int64_t k = 4096) {
    Problem problem = packed_problem(precision, Layout::nt, 17, 4096, k);
    problem.invariant = true;
    return to_string(invariant_summation(problem, device));
  };
  EXPECT_EQ(text(Precision::bf16, h200), "tensor cores, 16 at once, uncut");
  EXPECT_EQ(text(Precision::fp16_fp32, h200), "tensor cores, 16 at once, uncut");
  EXPECT_EQ(text(Precision::fp16, h200, 14336), "tensor cores, 16 at once, in parts of 7168");
  EXPECT_EQ(text(Precision::fp16, t4, 14336), "tensor cores, 8 at once, uncut");
  EXPECT_EQ(text(Precision::fp32, h200, 14336), "fused multiply-adds, in parts of 1792");
  EXPECT_EQ(text(Precision::fp32, h200, 511), "fused multiply-adds, uncut");
  EXPECT_EQ(text(Precision::tf32, h200), "tensor cores by a warpgroup, 8 at once, uncut");
  EXPECT_EQ(text(Precision::tf32, h200, 14336), "tensor cores by a warpgroup, 8 at once, in parts of 7168");
  EXPECT_EQ(text(Precision::bf16_x_fp32, h200, 14336), "fused multiply-adds, in parts of 1792");
  EXPECT_EQ(text(Precision::e4m3_bf16, h200), "tensor cores by a warpgroup, 32 at once, promoted every 128, uncut");
  EXPECT_EQ(text(Precision::fp64, h200), "tensor cores by a warp, 8 at once, uncut");
  EXPECT_EQ(text(Precision::int8, h200), "exact");
  EXPECT_EQ(text(Precision::fp32, h200), "fused multiply-adds, in parts of 512");
  EXPECT_EQ(text(Precision::fp16, t4), "tensor cores, 8 at once, uncut");
  EXPECT_EQ(text(Precision::fp16, k20c), "fused multiply-adds, in parts of 512");
}

/// So two searches for the same sizes, whatever they find, give the same bits: it knows neither what was measured nor
/// m, n, the layout or the alignment.
TEST(Summation, OfInvariantProductsIsAFunctionOfPrecisionAndDepth) {
  const DeviceSpec h200 = catalog_gpu("h200");
  for (const Precision precision : kAllPrecisions) {
    for (const std::int64_t k : {1031, 12288, 18945}) {
      Problem one = packed_problem(precision, Layout::nt, 1, 8192, k);
      one.invariant = true;
      const std::string stated = to_string(invariant_summation(one, h200));
      for (const Layout layout : kAllLayouts) {
        for (const std::int64_t m : {17, 257, 8192}) {
          Problem other = packed_problem(precision, layout, m, m + 131, k);
          other.invariant = true;
          other.align = {traits(precision).a.bytes, traits(precision).b.bytes, traits(precision).c.bytes};
          EXPECT_EQ(to_string(invariant_summation(other, h200)), stated) << to_string(other);
          EXPECT_EQ(invariant_parts(other, 90), invariant_parts(one, 90)) << to_string(other);
        }
      }
    }
  }
}

/// What the library picks by invariant_parts() is what invariant_summation() states.
TEST(Summation, OfInvariantProductsHasInvariantParts) {
  const DeviceSpec h200 = catalog_gpu("h200");
  for (const Precision precision : kAllPrecisions) {
    Problem problem = packed_problem(precision, Layout::nt, 17, 4096, 14336);
    problem.invariant = true;
    const bool is_cut = invariant_parts(problem, 90) > 1;
    EXPECT_EQ(invariant_summation(problem, h200).part > 0, is_cut) << to_string(problem);
  }
}

/// Whatever the operands' alignment: it may not decide whether an invariant product can run.
TEST(Summation, EveryInvariantProductHasAKernelThatASearchTries) {
  const DeviceSpec h200 = catalog_gpu("h200");
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      for (const int align : kAlignments) {
        for (const std::int64_t k : {1031, 18945}) {
          const PrecisionTraits& types = traits(precision);
          const auto at_least = [&](const FormatTraits& format) { return std::max(align, format.bytes); };
          Problem problem{precision, layout, 333, 517, k, {at_least(types.a), at_least(types.b), at_least(types.c)}};
          problem.invariant = true;
          const bool any = std::any_of(families().begin(), families().end(), [&](const Family* family) {
            return family->competes() && family->broken_rule(problem, family->default_config(problem), h200).empty();
          });
          EXPECT_TRUE(any) << to_string(problem);
        }
      }
    }
  }
}

/// Other searches take long sums of fp32 in slices.
TEST(Summation, OfLongInvariantProductsOfFp32IsSearchedWithSimt) {
  const Family& simt = family_named("simt");
  Problem problem = packed_problem(Precision::fp32, Layout::nt, 1024, 4096, 14336);
  const auto is_searched = [&](std::string_view cut) {
    std::string tile = "BM=128 BN=128 BK=16 TN=16 LANES_N=4 LOAD=2 UNROLL=16 MIN_BLOCKS=2 GROUP=8 PACK=1 ";
    const Config config = simt.with_defaults(simt.parse(tile.append(cut)), problem);
    return simt.judge(problem, config, catalog_gpu("h200")).searched();
  };
  EXPECT_FALSE(is_searched("CUT=0"));
  problem.invariant = true;
  EXPECT_TRUE(is_searched("CUT=1"));
}

}  // namespace
}  // namespace mmtune
