// A program whose launch says how many blocks share a tile's k runs other sizes with what suits them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/choose/dispatch.h"
#include "templates/family/split_k.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "templates/model/power.h"
#include "tests/runtime/stored_kernels.h"

namespace mmtune {
namespace {

using test::fp32;
using testing::HasSubstr;

constexpr const char* kTile = "BM=64 BN=64 BK=16 TM=4 TN=8 REDUCE=0 SPLIT=";

class DispatchSplit : public testing::Test {
 protected:
  /// One program for all values of SPLIT over 1.
  Entry entry(const Problem& problem, int split, double median_us) const {
    const Config config = test::config_of({problem, "simt", kTile + std::to_string(split), median_us}, device_);
    const StoredKernel kernel{&family_named("simt"), config, split > 1 ? "parts" : "whole", 64};
    return {problem, std::make_shared<const StoredKernel>(kernel), median_us, true};
  }

  static int split_of(const Choice& choice) { return *choice.config.find("SPLIT"); }

  DeviceSpec device_ = catalog_gpu("h200");
  const Problem deep_ = fp32(128, 128, 8192);  // four tiles
  const DispatchTable table_{device_, {{entry(deep_, 32, 20)}, {}, {}, {}, 0}};
};

TEST_F(DispatchSplit, ATunedSizeKeepsItsOwn) {
  const Choice choice = table_.choose(deep_);
  EXPECT_EQ(choice.match, Match::exact);
  EXPECT_EQ(split_of(choice), 32);
}

TEST_F(DispatchSplit, AnotherSizeGetsWhatSuitsIt) {
  const Choice choice = table_.choose(fp32(512, 512, 8192));  // 64 tiles
  EXPECT_EQ(choice.match, Match::predicted);
  EXPECT_GT(split_of(choice), 1) << "another program's";
  EXPECT_LE(split_of(choice), 16);
  EXPECT_EQ(choice.binary_hash, "parts");
  EXPECT_EQ(choice.plan.steps, choice.family->plan(fp32(512, 512, 8192), choice.config, device_).steps);
  EXPECT_THAT(choice.why, HasSubstr("nearest tuned size is fp32 nn 128x128x8192"));
  EXPECT_THAT(choice.why, HasSubstr("SPLIT=" + std::to_string(split_of(choice))));
}

TEST_F(DispatchSplit, NoPartIsWithoutWork) {
  const Choice choice = table_.choose(fp32(128, 128, 64));
  EXPECT_EQ(split_of(choice), 2);
}

TEST_F(DispatchSplit, TheNearestSizesKernelAsItIsHasItsOwn) {
  EXPECT_EQ(split_of(table_.choose(fp32(512, 512, 8192), Policy::nearest)), 32);
}

TEST_F(DispatchSplit, WhatIsAboutAsGoodStays) {
  for (const int split : {6, 8, 12}) {
    const DispatchTable table(device_, {{entry(fp32(512, 512, 8192), split, 100)}, {}, {}, {}, 0});
    EXPECT_EQ(split_of(table.choose(fp32(512, 512, 8000))), split);
  }
}

TEST_F(DispatchSplit, OneProgramIsOneKernelHoweverItIsLaunched) {
  const DispatchTable table(device_, {{entry(deep_, 32, 20), entry(fp32(512, 512, 8192), 8, 100)}, {}, {}, {}, 0});
  const Choice choice = table.choose(fp32(256, 256, 8192));
  EXPECT_TRUE(table.alternatives(fp32(256, 256, 8192), 5).empty());
  EXPECT_EQ(choice.binary_hash, "parts");
}

TEST_F(DispatchSplit, AProgramWithPartsIsNoWiderOneOfOneWithoutThem) {
  const auto choice_of = [&](int split_of_narrow, int split_of_wide) {
    Entry narrow = entry(fp32(1024, 1024, 1024), split_of_narrow, 50);
    narrow.problem.align.c = 8;
    const Entry wide = entry(fp32(4096, 4096, 4096), split_of_wide, 100 * 1000);
    StoredKernels kernels{{narrow, wide}, {narrow, wide}, {}, {}, 0};
    if (split_of_wide > 1) std::swap(kernels.winners[0], kernels.winners[1]);  // The one with parts comes first.
    kernels.times[0].problem = kernels.times[1].problem = fp32(4096, 4096, 2048);
    return DispatchTable(device_, kernels).choose(fp32(4096, 4096, 2560));
  };
  const Choice whole = choice_of(1, 4);
  EXPECT_EQ(whole.binary_hash, "whole") << whole.why;
  EXPECT_EQ(split_of(whole), 1);
  const Choice parts = choice_of(4, 1);
  EXPECT_EQ(parts.binary_hash, "parts") << parts.why;
  EXPECT_GT(split_of(parts), 1);
}

TEST_F(DispatchSplit, AProgramWithoutPartsIsNotLaunchedWithSome) {
  const DispatchTable table(device_, {{entry(fp32(1024, 1024, 1024), 1, 50)}, {}, {}, {}, 0});
  EXPECT_EQ(split_of(table.choose(fp32(128, 128, 8192))), 1);
}

// Times of kernels that are surely worse than another one are not worked out to the end: nothing else follows.
TEST(DispatchSplitOfTensorCores, TheFastestIsChosenAndAlternativesComeInOrder) {
  const DeviceSpec device = catalog_gpu("h100");
  const Family& family = family_named("wgmma");
  const Problem tuned = packed_problem(Precision::bf16, Layout::nt, 256, 256, 8192);
  std::vector<Entry> winners;
  for (const int columns : {24, 32, 48, 64, 80, 96, 128, 192, 256}) {
    for (const char* rows : {"BM=64 CONSUMERS=1", "BM=64 CONSUMERS=1 MIN_BLOCKS=2", "BM=128 CONSUMERS=2"}) {
      const std::string text = fmt::format("{} BN={} SPLIT=12 GROUP=1", rows, columns);
      const Config config = family.with_defaults(Config::parse(text), tuned);
      if (!family.broken_rule(tuned, config, device).empty()) continue;
      const StoredKernel kernel{&family, config, text, 0};
      const double us = predict(tuned, family.plan(tuned, config, device), device, 0).time_us;
      winners.push_back({tuned, std::make_shared<const StoredKernel>(kernel), us, true});  // as expected
    }
  }
  const DispatchTable table{device, {winners, {}, {}, {}, 0}};
  const auto position = *split_position(family);
  for (const std::int64_t extent : {64, 104, 200, 328, 520, 1000}) {
    for (const std::int64_t k : {1000, 2048, 4096, 8192}) {
      const Problem problem = packed_problem(Precision::bf16, Layout::nt, extent, extent + 64, k);
      // The model's time of a configuration with the best of its family's numbers of parts, under the power limit.
      const auto best_us = [&](Config config) {
        const bool is_limited = power_of(problem, device) == Power::limited;
        double best = std::numeric_limits<double>::infinity();
        for (const int parts : family.params()[position].values) {
          if (parts == 1 || problem.k < std::int64_t{128} * parts) continue;
          config.set(position, parts);
          const LaunchPlan plan = family.plan(problem, config, device);
          const double single_us = predict(problem, plan, device, 0).time_us;
          best = std::min(best, single_us * (is_limited ? power_factor(problem, plan, device) : 1));
        }
        return best;
      };
      double fastest_us = std::numeric_limits<double>::infinity();
      for (const Entry& each : winners) fastest_us = std::min(fastest_us, best_us(each.kernel->config));
      for (const Policy policy : {Policy::model, Policy::measured}) {
        const double chosen_us = table.choose(problem, policy).expected_us;
        EXPECT_GE(chosen_us, 0.999 * fastest_us) << to_string(problem);
        EXPECT_LE(chosen_us, 1.031 * fastest_us) << to_string(problem) << ", and the nearest one's SPLIT if 3 % slower";
      }
      double before_us = fastest_us;
      for (const Choice& each : table.alternatives(problem, 20)) {
        EXPECT_GE(each.expected_us, 0.999 * before_us) << each.config.text();
        before_us = each.expected_us;
        if (each.match == Match::nearest) continue;
        EXPECT_NEAR(each.expected_us, best_us(each.config), 0.001 * each.expected_us) << each.config.text();
      }
    }
  }
}

TEST(DispatchOfTensorCores, AKernelWhoseBlocksMayLieInPairsHasToBeFasterByFar) {
  const DeviceSpec device = catalog_gpu("h200");
  const Family& family = family_named("wgmma");
  const Problem tuned = packed_problem(Precision::bf16, Layout::nn, 176, 704, 4608);
  const Problem asked = packed_problem(Precision::bf16, Layout::nn, 176, 704, 4704);
  const auto stored = [&](const std::string& settings, double us) {
    const Config config = family.with_defaults(
        Config::parse("BM=32 BN=64 CONSUMERS=1 SWAP=1 GROUP=1 SPLIT=2 REDUCE=1 " + settings), tuned);
    return Entry{tuned, std::make_shared<const StoredKernel>(StoredKernel{&family, config, settings, 0}), us, true};
  };
  const auto min_blocks_where = [&](double of_pairs_us) {
    const DispatchTable table{device,
                              {{stored("MIN_BLOCKS=1", 10), stored("MIN_BLOCKS=2", of_pairs_us)}, {}, {}, {}, 0}};
    return *table.choose(asked).config.find("MIN_BLOCKS");
  };
  EXPECT_EQ(min_blocks_where(10), 1) << "8 % faster";
  EXPECT_EQ(min_blocks_where(7), 2) << "22 % faster";
}

}  // namespace
}  // namespace mmtune
