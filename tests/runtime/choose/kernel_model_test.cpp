#include "runtime/choose/kernel_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/space/space.h"

namespace mmtune {
namespace {

constexpr std::array<std::array<std::int64_t, 3>, 6> kSizes{
    {{64, 64, 64}, {48, 8192, 333}, {4097, 60, 8191}, {1000, 1000, 8192}, {5000, 5000, 5000}, {8, 16384, 4096}}};

/// The largest share by which the model of the kernel differs from that of a plan.
double worst_error(const Family& family, const Config& config, const Problem& rendered) {
  const DeviceSpec& device = catalog_gpu("h200");
  const KernelModel model(family, config, rendered, device, 96);
  double worst = 0;
  for (const auto& [m, n, k] : kSizes) {
    Problem problem = rendered;
    problem.m = m, problem.n = n, problem.k = k;
    const double exact = predict(problem, family.plan(problem, config, device), device, 96).time_us;
    worst = std::max(worst, std::abs(model.time_us(problem, device) / exact - 1));
  }
  return worst;
}

TEST(KernelModel, SaysWhatThePlanOfTheSizeWouldSay) {
  for (const Family* family : families()) {
    for (const Layout layout : kAllLayouts) {
      const Problem problem = packed_problem(Precision::fp32, layout, 1024, 1024, 1024);
      if (!family->legal_plan(problem, family->default_config(problem), catalog_gpu("h200"))) continue;
      EXPECT_LT(worst_error(*family, family->default_config(problem), problem), 1e-6)
          << family->name() << " " << to_string(layout);
    }
  }
}

TEST(KernelModel, BlocksMayLieInPairsWhereTheyAreNearlyAsManyAsSms) {
  const DeviceSpec& device = catalog_gpu("h200");
  const Family& family = family_named("wgmma");
  const Problem rendered = packed_problem(Precision::bf16, Layout::nn, 1024, 1024, 1024);
  const auto may_lie_in_pairs = [&](const char* settings, std::int64_t m, std::int64_t n, std::int64_t k,
                                    std::int64_t products = 1) {
    const Config config = family.with_defaults(
        Config::parse(fmt::format("CONSUMERS=1 SWAP=1 GROUP=1 BM=32 BN=64 {}", settings)), rendered);
    const KernelModel model(family, config, rendered, device, 96);
    return model.may_lie_in_pairs(packed_problem(Precision::bf16, Layout::nn, m, n, k), device, products);
  };
  const char* const beside = "MIN_BLOCKS=2 SPLIT=2 REDUCE=1";
  EXPECT_TRUE(may_lie_in_pairs(beside, 176, 704, 4704)) << "132 blocks";
  EXPECT_TRUE(may_lie_in_pairs("MIN_BLOCKS=2", 352, 704, 4704)) << "121 blocks";
  EXPECT_FALSE(may_lie_in_pairs(beside, 176, 768, 4704)) << "144 blocks";
  EXPECT_FALSE(may_lie_in_pairs(beside, 176, 512, 4704)) << "96 blocks";
  EXPECT_FALSE(may_lie_in_pairs(beside, 176, 704, 4704, 2)) << "two products of 132 blocks";
  EXPECT_FALSE(may_lie_in_pairs(beside, 64, 2048, 4704)) << "few rows";
  EXPECT_FALSE(may_lie_in_pairs(beside, 176, 704, 2048)) << "16 steps for each part";
  EXPECT_FALSE(may_lie_in_pairs("MIN_BLOCKS=1 SPLIT=2 REDUCE=1", 176, 704, 4704)) << "one block an SM";
  EXPECT_FALSE(may_lie_in_pairs("MIN_BLOCKS=2 SPLIT=2", 176, 704, 4704)) << "parts that the launch says";
}

TEST(KernelModel, ABoundIsNeverMoreThanTheTimeAndSeldomMuchLess) {
  const DeviceSpec& device = catalog_gpu("h200");
  int all = 0;
  int close = 0;
  for (const Family* family : families()) {
    for (const Precision precision : {Precision::fp32, Precision::fp16}) {
      const Problem middle = packed_problem(precision, Layout::nn, 2048, 2048, 2048);
      const SearchSpace space(*family, middle, device);
      for (const RankedConfig& ranked : space.ranked(50)) {
        const KernelModel model(*family, space.config(ranked.number), middle, device, 96);
        for (const auto& [m, n, k] : kSizes) {
          for (const std::int64_t products : {1, 64}) {
            const Problem problem = packed_problem(precision, Layout::nn, m, n, k);
            const double least = model.least_us(problem, device, products);
            const double time = model.time_us(problem, device, products);
            EXPECT_LE(least, time) << family->name() << " " << space.config(ranked.number).text();
            EXPECT_LE(least_power_factor(device) * least,
                      model.time_below(problem, device, products, 0, Power::limited, KernelModel::kNoLimit).us)
                << family->name() << " " << space.config(ranked.number).text();
            ++all;
            close += least > time / 4 ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(all, 2000);
  EXPECT_GT(close, all / 2) << "what is always far below rules nothing out";
}

TEST(KernelModel, AProgramForUnalignedResultsTakesLongerWhereTheyAreAligned) {
  const DeviceSpec& device = catalog_gpu("h100");
  const Problem aligned = packed_problem(Precision::bf16, Layout::nt, 1552, 3088, 56);
  Problem narrow = aligned;
  narrow.align.c = 2;
  for (const char* name : {"wgmma", "mma_sync"}) {
    const Family& family = family_named(name);
    const Config config = family.default_config(aligned);
    const double us = KernelModel(family, config, narrow, device, 96).time_us(aligned, device);
    EXPECT_GT(us, 1.2 * KernelModel(family, config, aligned, device, 96).time_us(aligned, device)) << name;
  }
}

// No trial is of such a program where results are aligned: the correction must not say of itself what those take.
TEST(KernelModel, TheCorrectionDoesNotMakeAProgramForUnalignedResultsFasterWhereTheyAreAligned) {
  const DeviceSpec& device = catalog_gpu("h200");
  const Family& family = family_named("wgmma");
  for (const auto& [m, n, k] : {std::array{2064, 104, 2944}, {6016, 136, 800}, {1640, 136, 5664}, {144, 944, 6144}}) {
    const Problem aligned = packed_problem(Precision::e4m3_bf16, Layout::nt, m, n, k);
    Problem narrow = aligned;
    narrow.align.c = 2;
    for (const char* tile : {"BM=64 BN=32 CONSUMERS=1", "BM=64 BN=80 CONSUMERS=1",
                             "BM=64 BN=160 CONSUMERS=1 CLUSTER_M=4", "BM=64 BN=96 CONSUMERS=1 SPLIT=4 REDUCE=1"}) {
      const Config config = family.with_defaults(Config::parse(tile), aligned);
      const double us = KernelModel(family, config, narrow, device, 0).time_us(aligned, device);
      EXPECT_GT(us, KernelModel(family, config, aligned, device, 0).time_us(aligned, device)) << m << " " << tile;
    }
  }
}

TEST(KernelModel, KnowsWhatTheWorkspaceCosts) {
  const Family& family = family_named("simt");
  const DeviceSpec& device = catalog_gpu("h200");
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1001, 999, 1003);
  for (const char* text : {"SPLIT=16", "PACK=1 LOAD=1", "PACK=1 LOAD=1 STREAM=1 MIN_BLOCKS=2", "STREAM=1"}) {
    const Config config = family.complete(family.parse(text), problem, device);
    EXPECT_LT(worst_error(family, config, problem), 1e-3) << text << ": rows of copies are padded";
    const KernelModel model(family, config, problem, device, 96);
    const auto bytes = static_cast<double>(family.plan(problem, config, device).workspace.bytes());
    EXPECT_NEAR(model.workspace_bytes(problem), bytes, 0.01 * bytes) << text;
  }
}

TEST(KernelModel, KnowsThatACopyLeavesOperandsWhoseRowsAreWholeLines) {
  const DeviceSpec& device = catalog_gpu("h100");
  const Family& family = family_named("wgmma");
  const Problem neither = packed_problem(Precision::bf16, Layout::nn, 376, 3856, 5816);
  const Problem a_alone = packed_problem(Precision::bf16, Layout::nn, 376, 3840, 5816);
  const Problem b_alone = packed_problem(Precision::bf16, Layout::nn, 376, 3856, 5824);
  const Config config = family.complete(family.parse("BM=128 BN=128 PACK=1"), neither, device);
  for (const Problem& rendered : {neither, a_alone, b_alone}) {
    const KernelModel model(family, config, rendered, device, 168);
    for (const Problem& problem : {neither, a_alone, b_alone}) {
      const LaunchPlan plan = family.plan(problem, config, device);
      const auto bytes = static_cast<double>(plan.workspace.bytes());
      EXPECT_NEAR(model.workspace_bytes(problem), bytes, 0.02 * bytes) << to_string(problem);
      const double exact = predict(problem, plan, device, 168).time_us;
      EXPECT_NEAR(model.time_us(problem, device), exact, 0.02 * exact) << to_string(problem);
    }
  }
}

TEST(KernelModel, SaysWhatOtherNumbersOfPartsWouldTake) {
  struct Splitting {
    const char* family;
    Precision precision;
    const char* settings;
  };
  const DeviceSpec& device = catalog_gpu("h200");
  for (const Splitting& each :
       {Splitting{"simt", Precision::fp32, ""}, Splitting{"mma_sync", Precision::fp16, ""},
        Splitting{"wgmma", Precision::bf16, "BM=64 BN=64 CONSUMERS=1 "}, Splitting{"skinny", Precision::fp32, ""}}) {
    const std::string_view name = each.family;
    const Precision precision = each.precision;
    const Family& family = family_named(name);
    const Problem rendered = packed_problem(precision, Layout::nn, 1024, 1024, 1024);
    const auto with = [&](int split) {
      return family.with_defaults(family.parse(fmt::format("{}SPLIT={}", each.settings, split)), rendered);
    };
    const KernelModel model(family, with(4), rendered, device, 96);
    EXPECT_TRUE(model.splits_at_launch()) << name;
    EXPECT_FALSE(KernelModel(family, with(1), rendered, device, 96).splits_at_launch()) << name;
    for (const Problem& problem : {packed_problem(precision, Layout::nn, 16, 256, 8192),
                                   packed_problem(precision, Layout::nn, 512, 512, 4096)}) {
      int best = 0;
      double best_us = std::numeric_limits<double>::infinity();
      const std::vector<int> numbers{1, 2, 4, 8, 16};
      for (const int parts : numbers) {
        if (parts == 1) continue;
        const LaunchPlan plan = family.plan(problem, with(parts), device);
        const double exact = predict(problem, plan, device, 96).time_us;
        EXPECT_NEAR(model.time_us(problem, device, 1, parts), exact, 1e-6 * exact) << name << " " << parts;
        EXPECT_NEAR(model.workspace_bytes(problem, parts), static_cast<double>(plan.workspace.bytes()), 256);
        EXPECT_LE(model.least_us(problem, device), exact);
        if (exact < best_us) best = parts, best_us = exact;
      }
      EXPECT_EQ(model.best_parts(problem, numbers, device).number, best) << name;
      EXPECT_EQ(model.best_parts(packed_problem(precision, Layout::nn, 64, 64, 1), numbers, device).number, 0);
    }
  }
}

}  // namespace
}  // namespace mmtune
