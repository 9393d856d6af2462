#include "runtime/choose/dispatch.h"

#include <gmock/gmock.h>

#include <cmath>

#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "templates/space/space.h"
#include "tests/runtime/stored_kernels.h"

namespace mmtune {
namespace {

using test::Decision;
using test::fp32;
using testing::HasSubstr;

class Dispatch : public testing::Test {
 protected:
  Entry entry(const Decision& decision) const {
    const Config config = test::config_of(decision, device_);
    const StoredKernel kernel{&family_named(decision.family), config, decision.family + config.text(), 64};
    return {decision.problem, std::make_shared<const StoredKernel>(kernel), decision.median_us,
            decision.evidence == Evidence::measured};
  }

  DispatchTable table(const std::vector<Decision>& decisions) const {
    StoredKernels kernels;
    for (const Decision& decision : decisions) kernels.winners.push_back(entry(decision));
    return DispatchTable(device_, kernels);
  }

  DeviceSpec device_ = catalog_gpu("h200");
};

TEST_F(Dispatch, ExactSizeGetsItsOwnKernelAndTime) {
  const auto choice = table({{fp32(512, 512, 512), "naive", "", 70}, {fp32(1024, 1024, 1024), "tiled", "", 80}})
                          .choose(fp32(1024, 1024, 1024));
  EXPECT_EQ(choice.match, Match::exact);
  EXPECT_EQ(choice.family->name(), "tiled");
  EXPECT_EQ(choice.expected_us, 80);
  EXPECT_TRUE(choice.measured);
}

TEST_F(Dispatch, PredictedDecisionIsExactButNotMeasured) {
  const auto choice = table({{fp32(512, 512, 512), "tiled", "", 70, Evidence::predicted}}).choose(fp32(512, 512, 512));
  EXPECT_EQ(choice.match, Match::exact);
  EXPECT_FALSE(choice.measured);
  EXPECT_THAT(choice.why, HasSubstr("not measured"));
}

TEST_F(Dispatch, OtherSizeGetsTheNearestKernelWithAPlanForItsOwnExtents) {
  const auto dispatch =
      table({{fp32(512, 512, 512), "simt", "BM=64 BN=64"}, {fp32(4096, 4096, 4096), "simt", "BM=128 BN=64"}});
  const auto choice = dispatch.choose(fp32(640, 512, 512));
  EXPECT_EQ(choice.match, Match::nearest);
  EXPECT_EQ(*choice.config.find("BM"), 64);
  EXPECT_EQ(choice.plan.steps[0].grid.x, 10 * 8);
  EXPECT_FALSE(choice.measured);
  EXPECT_GT(choice.expected_us, 0);
  EXPECT_THAT(choice.why, HasSubstr("512x512x512"));
}

TEST_F(Dispatch, AKernelTakesAsLongForOperandsThatAreAlignedToMoreThanItNeeds) {
  const auto dispatch = table({{fp32(1001, 1001, 1001), "simt", "", 100}});
  const auto choice = dispatch.choose(fp32(1000, 1000, 1000));
  EXPECT_EQ(choice.align.a, 4);
  EXPECT_NEAR(choice.expected_us, 100, 5);
}

TEST_F(Dispatch, ExpectedTimeOfANearSizeScalesTheMeasuredOne) {
  const auto at = [&](double us) {
    return table({{fp32(1024, 1024, 1024), "simt", "", us}}).choose(fp32(2048, 2048, 2048)).expected_us;
  };
  EXPECT_NEAR(at(200), 2 * at(100), 1e-9);
  EXPECT_GT(at(100), 300);
}

TEST_F(Dispatch, AnInvariantProductRunsOnlyKernelsThatWereFoundForOne) {
  const auto bf16 = [](std::int64_t m, bool invariant) {
    Problem problem = packed_problem(Precision::bf16, Layout::nt, m, 4096, 4096);
    problem.invariant = invariant;
    return problem;
  };
  const auto dispatch = table({{bf16(16, false), "wgmma", "BM=16 BN=64 CONSUMERS=1 SWAP=1 SPLIT=2", 10},
                               {bf16(4096, true), "wgmma", "BM=128 BN=128 CONSUMERS=2", 200}});
  EXPECT_EQ(*dispatch.choose(bf16(16, false)).config.find("SPLIT"), 2);
  const auto choice = dispatch.choose(bf16(16, true));
  EXPECT_EQ(choice.match, Match::nearest);
  EXPECT_EQ(*choice.config.find("SPLIT"), 1) << "the time would be shorter with more";
  EXPECT_EQ(choice.family->summation(bf16(16, true), choice.config, device_),
            invariant_summation(bf16(16, true), device_));
}

TEST_F(Dispatch, AnInvariantProductRunsOnlyKernelsThatCutItsKAsItAsks) {
  const auto bf16 = [](std::int64_t m, std::int64_t k) {
    Problem problem = packed_problem(Precision::bf16, Layout::nt, m, 4096, k);
    problem.invariant = true;
    return problem;
  };
  const auto dispatch = table({{bf16(16, 14336), "wgmma", "BM=16 BN=64 CONSUMERS=1 SWAP=1 SPLIT=2 OWN_PARTS=1", 30},
                               {bf16(4096, 14336), "wgmma", "BM=128 BN=128 CONSUMERS=2 OWN_PARTS=2", 700},
                               {bf16(1024, 4096), "wgmma", "BM=128 BN=128 CONSUMERS=2", 60}});
  for (const std::int64_t m : {1, 16, 17, 300, 4096, 8192}) {
    for (const std::int64_t k : {64, 4096, 12280, 12288, 14336, 30000}) {
      const Problem problem = bf16(m, k);
      const auto choice = dispatch.choose(problem);
      EXPECT_EQ(choice.family->summation(problem, choice.config, device_), invariant_summation(problem, device_))
          << to_string(problem) << ": " << choice.config.text();
    }
  }
}

TEST_F(Dispatch, ForABatchTheKernelOfALoneProductStandsBack) {
  // Alone, 64x64x64 fills the GPU only if blocks share its steps along k.
  const auto dispatch = table({{fp32(64, 64, 64), "simt", "BM=32 BN=32 BK=8 TM=4 TN=4 SPLIT=4", 3},
                               {fp32(1024, 1024, 64), "simt", "BM=64 BN=64 BK=16 TM=8 TN=4", 8}});
  const auto alone = dispatch.choose(fp32(64, 64, 64));
  EXPECT_EQ(alone.match, Match::exact);
  EXPECT_EQ(*alone.config.find("SPLIT"), 4);
  const auto many = dispatch.choose(fp32(64, 64, 64), Policy::measured, 1024);
  EXPECT_EQ(many.match, Match::predicted);
  EXPECT_EQ(*many.config.find("SPLIT"), 1);
  EXPECT_THAT(many.why, HasSubstr("for about 1024 products"));
  EXPECT_LT(many.expected_us, alone.expected_us / 4) << "of one product";
}

TEST_F(Dispatch, ForABatchTheTunedKernelStaysWhereNoneIsFaster) {
  const auto dispatch = table({{fp32(512, 512, 512), "simt", "BM=64 BN=64", 70}, {fp32(64, 64, 64), "naive", "", 30}});
  const auto choice = dispatch.choose(fp32(512, 512, 512), Policy::measured, 256);
  EXPECT_EQ(choice.match, Match::exact);
  EXPECT_EQ(choice.family->name(), "simt");
  EXPECT_EQ(choice.why, "tuned for this size");
  EXPECT_FALSE(choice.measured) << "a product alone was";
}

TEST_F(Dispatch, ClearlyWorseNearestGivesWayToTheModelsPick) {
  // The nearest size was won by one thread per block, which no model takes for a good idea at any size.
  const auto choice = table({{fp32(1024, 1024, 1024), "naive", "MAPPING=0 BX=1 BY=1"}, {fp32(256, 256, 256), "simt"}})
                          .choose(fp32(1100, 1024, 1024));
  EXPECT_EQ(choice.match, Match::predicted);
  EXPECT_EQ(choice.family->name(), "simt");
  EXPECT_THAT(choice.why, HasSubstr("256x256x256"));
}

TEST_F(Dispatch, TimesOfOtherSizesSayWhichKernelIsFaster) {
  // The model takes both for about as fast; at 2048 the kernel that won 512 took half the time of the one that won it.
  const Decision small{fp32(512, 512, 512), "simt", "BM=64 BN=64", 20};
  const Decision large{fp32(4096, 4096, 4096), "simt", "BM=128 BN=64", 4000};
  StoredKernels kernels;
  kernels.winners = {entry(small), entry(large)};
  kernels.times = kernels.winners;
  for (Entry& time : kernels.times) time.problem = fp32(2048, 2048, 2048);
  kernels.times[0].median_us = 300;
  kernels.times[1].median_us = 600;
  const DispatchTable dispatch(device_, kernels);
  const Problem asked = fp32(2304, 2048, 2048);
  const auto learnt = dispatch.choose(asked);
  EXPECT_EQ(*learnt.config.find("BM"), 64);
  EXPECT_NEAR(learnt.expected_us, 300 * 2304 / 2048., 60);
  EXPECT_FALSE(learnt.measured);
  EXPECT_EQ(*dispatch.choose(asked, Policy::nearest).config.find("BM"), 128);
  EXPECT_THAT(learnt.why, HasSubstr("but by stored times the kernel of fp32 nn 512x512x512 is expected"));
}

TEST_F(Dispatch, AlternativesAreTheOtherKernelsThatAreNotMuchSlower) {
  const std::vector<Decision> decisions{{fp32(1024, 1024, 1024), "simt", "BM=128 BN=128", 100},
                                        {fp32(4096, 1024, 1024), "simt", "BM=128 BN=64", 400},
                                        {fp32(1024, 4096, 1024), "simt", "BM=64 BN=128", 400},
                                        {fp32(1024, 1024, 4096), "naive", "MAPPING=0 BX=1 BY=1", 400000}};
  const DispatchTable dispatch = table(decisions);
  const Problem asked = fp32(1536, 1536, 1024);
  const Choice chosen = dispatch.choose(asked);
  const auto others = dispatch.alternatives(asked, 3);
  ASSERT_EQ(others.size(), 2u) << "one thread per block is not worth a try";
  for (const Choice& other : others) {
    EXPECT_NE(other.config, chosen.config);
    EXPECT_EQ(other.family->name(), "simt");
    EXPECT_EQ(other.plan.steps[0].grid.x, other.family->plan(asked, other.config, device_).steps[0].grid.x);
    EXPECT_LE(other.expected_us, 1.5 * chosen.expected_us);
    EXPECT_FALSE(other.binary_hash.empty());
  }
  EXPECT_NE(others[0].config, others[1].config);
  ASSERT_EQ(dispatch.alternatives(asked, 1).size(), 1u);
  EXPECT_EQ(dispatch.alternatives(asked, 1)[0].config, others[0].config) << "the best first";
  EXPECT_TRUE(dispatch.alternatives(fp32(1024, 1024, 1024), 3).empty()) << "a tuned size has its kernel";
  EXPECT_TRUE(dispatch.alternatives(packed_problem(Precision::fp64, Layout::nn, 9, 9, 9), 3).empty());
}

TEST_F(Dispatch, TheFastestOfManyKernelsAroundIsFound) {
  // Each of many kernels is the fastest at one size; all were measured where one that won far away is the fastest.
  StoredKernels kernels;
  std::vector<Entry> all;
  for (const int bm : {32, 64}) {
    for (const int bn : {32, 64, 128}) {
      for (const int stages : {2, 3, 4}) {
        for (const auto& [order, group] : {std::pair(1, 1), {1, 8}, {2, 1}, {2, 8}}) {
          const auto number = static_cast<std::int64_t>(all.size());
          all.push_back(entry({fp32(8192, 64 + 8 * number, 64), "simt",
                               fmt::format("BM={} BN={} TM=4 TN=4 LANES_N=8 LOAD=1 STAGES={} ORDER={} GROUP={}", bm, bn,
                                           stages, order, group),
                               100}));
        }
      }
    }
  }
  kernels.winners = all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    kernels.times.push_back(all[i]);
    kernels.times.back().problem = fp32(1024, 1024, 1024);
    kernels.times.back().median_us = i == 66 ? 60 : 90;
  }
  const auto choice = DispatchTable(device_, kernels).choose(fp32(1024, 1024, 1088));
  EXPECT_EQ(choice.config.text(), all[66].kernel->config.text()) << choice.why;
  EXPECT_NEAR(choice.expected_us, 60 * 1088 / 1024., 12);
}

TEST_F(Dispatch, KernelRunsOnlyWhereItsAlignmentIsSatisfied) {
  const auto dispatch = table({{fp32(1024, 1024, 1024)}});
  ASSERT_EQ(dispatch.choose(fp32(1024, 1024, 1024)).plan.needs, (Alignment{16, 16, 16}));
  Problem offset = fp32(1024, 1024, 1024);
  offset.align.b = 4;
  EXPECT_EQ(dispatch.choose(offset).match, Match::fallback);
  EXPECT_EQ(dispatch.choose(fp32(1001, 1001, 1001)).match, Match::fallback);
}

TEST_F(Dispatch, KernelForLessAlignmentRunsWithItsOwnVectorWidth) {
  Problem offset = fp32(1024, 1024, 1024);
  offset.align = {4, 4, 4};
  const auto choice = table({{offset}}).choose(fp32(1024, 1024, 1024));
  EXPECT_EQ(choice.match, Match::exact);
  EXPECT_EQ(choice.align, offset.align);
  EXPECT_EQ(choice.plan.needs, offset.align);
}

TEST_F(Dispatch, AlignedCallsPreferTheAlignedKernelOfTheirSize) {
  Problem offset = fp32(1024, 1024, 1024);
  offset.align = {4, 4, 4};
  const auto dispatch = table({{offset, "simt", "", 90}, {fp32(1024, 1024, 1024), "simt", "", 95}});
  EXPECT_EQ(dispatch.choose(fp32(1024, 1024, 1024)).expected_us, 95);
  EXPECT_EQ(dispatch.choose(offset).expected_us, 90);
}

TEST_F(Dispatch, OfAConfigurationThatWasRenderedTwiceAlignedCallsTakeTheWiderOne) {
  const auto rendered = [&](const Problem& problem, const char* config, double median_us) {
    Entry made = entry({problem, "simt", config, median_us});
    StoredKernel kernel = *made.kernel;
    kernel.binary_hash += fmt::format(" for {}", problem.align.c);
    made.kernel = std::make_shared<const StoredKernel>(std::move(kernel));
    return made;
  };
  Problem narrow = fp32(4096, 4096, 4096);
  narrow.align.c = 8;
  StoredKernels kernels;
  kernels.winners = {rendered(fp32(1536, 1536, 1536), "BM=64 BN=64", 400), rendered(narrow, "BM=128 BN=64", 4000),
                     rendered(fp32(8192, 8192, 8192), "BM=128 BN=64", 32000)};
  kernels.times = {kernels.winners[0], kernels.winners[1]};
  for (Entry& time : kernels.times) time.problem = fp32(2048, 2048, 2048);
  kernels.times[0].median_us = 600;
  kernels.times[1].median_us = 300;
  const DispatchTable dispatch(device_, kernels);
  Problem asked = fp32(2304, 2048, 2048);
  const auto choice = dispatch.choose(asked);
  EXPECT_EQ(*choice.config.find("BM"), 128) << "by the time of the narrower one; " << choice.why;
  EXPECT_EQ(choice.align.c, 16) << "though no time around here is its own";
  for (const Choice& other : dispatch.alternatives(asked, 3)) {
    EXPECT_NE(other.binary_hash, choice.binary_hash) << "it runs already";
  }
  EXPECT_EQ(dispatch.choose(fp32(3840, 4096, 4096)).align.c, 16) << "near the narrower one";
  asked.align.c = 8;
  EXPECT_EQ(dispatch.choose(asked).align.c, 8);
}

TEST_F(Dispatch, TheNarrowerOneRunsWhereTheWiderOneCannot) {
  const auto problem = [](std::int64_t m, std::int64_t k, Alignment align) {
    Problem made = packed_problem(Precision::int8, Layout::tt, m, 5120, k);
    made.align = align;
    return made;
  };
  constexpr const char* kConfig =
      "SIDE=0 FEW=1 OWN=1 UNROLL=2 WARPS=8 WARPS_K=1 MIN_BLOCKS=4 NARROW=1 STAGES=2 LANES=32";
  const Problem narrow = problem(4, 8192, {1, 4, 4}), wide = problem(1, 4096, {1, 16, 16});
  const Problem asked = problem(4, 20480, {4, 16, 16});
  StoredKernels kernels;
  kernels.winners = {entry({narrow, "skinny", kConfig, 20}), entry({wide, "skinny", kConfig, 10}),
                     entry({problem(4, 20000, {4, 16, 16}), "naive", "", 5000})};
  StoredKernel kernel = *kernels.winners[1].kernel;
  kernel.binary_hash += " wider";
  kernels.winners[1].kernel = std::make_shared<const StoredKernel>(std::move(kernel));
  Problem unrunnable = asked;
  unrunnable.align = wide.align;
  ASSERT_FALSE(family_named("skinny").legal_plan(unrunnable, kernels.winners[1].kernel->config, device_));
  const Choice choice = DispatchTable(device_, kernels).choose(asked);
  EXPECT_EQ(choice.family->name(), "skinny") << choice.why;
  EXPECT_EQ(choice.align.b, 4);
}

TEST_F(Dispatch, OtherPrecisionsAndLayoutsAreNeverMixed) {
  const auto dispatch = table({{fp32(1024, 1024, 1024)}});
  for (const Problem& other : {packed_problem(Precision::fp64, Layout::nn, 1024, 1024, 1024),
                               packed_problem(Precision::fp32, Layout::tn, 1024, 1024, 1024)}) {
    const auto choice = dispatch.choose(other);
    EXPECT_EQ(choice.match, Match::fallback);
    EXPECT_EQ(choice.family->name(), "naive");
    EXPECT_TRUE(choice.binary_hash.empty());
    EXPECT_THAT(choice.why, HasSubstr("nothing is tuned for"));
  }
}

TEST_F(Dispatch, UntunedSizeGetsNoKernelWithAHugeWorkspace) {
  const auto dispatch = table({{fp32(256, 256, 4096), "simt", "SPLIT=8"}});
  EXPECT_EQ(dispatch.choose(fp32(256, 256, 4096)).match, Match::exact);
  EXPECT_EQ(dispatch.choose(fp32(65536, 65536, 64)).match, Match::fallback);
}

TEST_F(Dispatch, EveryShapeHasAnAnswer) {
  const auto dispatch = table({{fp32(1024, 1024, 1024)}, {fp32(255, 257, 3)}});
  for (const std::int64_t m : {1, 17, 4096, 100'000'000}) {
    for (const std::int64_t k : {0, 1, 5000}) {
      const auto choice = dispatch.choose(fp32(m, 3, k));
      EXPECT_FALSE(choice.plan.steps.empty());
      EXPECT_TRUE(std::isfinite(choice.expected_us)) << choice.why;
    }
  }
}

TEST_F(Dispatch, StoredFallbackServesItsPrecisionAndLayout) {
  StoredKernels kernels;
  kernels.fallbacks.push_back(entry({packed_problem(Precision::bf16, Layout::tt, 1, 1, 1), "naive"}));
  const DispatchTable dispatch(device_, kernels);
  EXPECT_FALSE(dispatch.choose(packed_problem(Precision::bf16, Layout::tt, 33, 5, 7)).binary_hash.empty());
  EXPECT_TRUE(dispatch.choose(packed_problem(Precision::bf16, Layout::nn, 33, 5, 7)).binary_hash.empty());
}

TEST_F(Dispatch, UnstoredFallbackIsOneProgramForAllSizes) {
  const auto dispatch = table({});
  EXPECT_EQ(dispatch.choose(fp32(64, 64, 64)).align, dispatch.choose(fp32(5, 6, 7)).align);
}

TEST_F(Dispatch, RecompilesTheNearestConfigurationForTheCallsAlignment) {
  const auto dispatch = table({{fp32(1024, 1024, 1024), "simt", "BM=128 BN=64"}});
  const auto choice = dispatch.recompiled(fp32(1001, 1001, 1001));
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->align, (Alignment{4, 4, 4}));
  EXPECT_EQ(choice->plan.needs, (Alignment{4, 4, 4}));
  EXPECT_EQ(*choice->config.find("BM"), 128);
  EXPECT_TRUE(choice->binary_hash.empty());
  EXPECT_FALSE(dispatch.recompiled(packed_problem(Precision::fp64, Layout::nn, 8, 8, 8)));
}

}  // namespace
}  // namespace mmtune
