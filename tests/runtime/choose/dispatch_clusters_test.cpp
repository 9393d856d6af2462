// A program whose launch says how its blocks form clusters runs other sizes with clusters that suit them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/choose/dispatch.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "tests/runtime/stored_kernels.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

Problem bf16(std::int64_t m, std::int64_t n, std::int64_t k) {
  return packed_problem(Precision::bf16, Layout::nn, m, n, k);
}

class DispatchClusters : public testing::Test {
 protected:
  /// The program of tiles of 128 by 128 that are shared in these directions.
  Entry entry(const Problem& problem, int cluster_m, int cluster_n, double median_us) const {
    const std::string text = fmt::format("BM=128 BN=128 CLUSTER_M={} CLUSTER_N={} GROUP=4", cluster_m, cluster_n);
    const Config config = test::config_of({problem, "wgmma", text}, device_);
    const std::string program = fmt::format("shares {}{}", cluster_m > 1 ? "B" : "", cluster_n > 1 ? "A" : "");
    const StoredKernel kernel{&family_named("wgmma"), config, program, 0};
    return {problem, std::make_shared<const StoredKernel>(kernel), median_us, true};
  }

  DispatchTable table(const std::vector<Entry>& winners) const { return {device_, {winners, {}, {}, {}, 0}}; }

  double model_us(const Problem& problem, const Config& config) const {
    return predict(problem, family_named("wgmma").plan(problem, config, device_), device_, 0).time_us;
  }

  static std::pair<int, int> clusters_of(const Choice& choice) {
    return {*choice.config.find("CLUSTER_M"), *choice.config.find("CLUSTER_N")};
  }

  const DeviceSpec device_ = catalog_gpu("h100");  // room for 66 clusters of two blocks, and for 30 of four
  const Problem tuned_ = bf16(1024, 1024, 4096);   // 64 tiles
  const Problem other_ = bf16(2048, 1024, 4096);   // 128 tiles: a wave of pairs, or more than one of fours
};

TEST_F(DispatchClusters, AnotherSizeGetsThoseThatFillOneWave) {
  const Choice choice = table({entry(tuned_, 4, 1, 20)}).choose(other_);
  EXPECT_EQ(choice.match, Match::predicted);
  EXPECT_EQ(clusters_of(choice), std::pair(2, 1));
  EXPECT_EQ(*choice.config.find("GROUP"), 4);
  EXPECT_EQ(choice.binary_hash, "shares B");
  EXPECT_EQ(choice.plan.steps, choice.family->plan(other_, choice.config, device_).steps);
  EXPECT_EQ(cluster_blocks(main_step(choice.plan)), 2);
  EXPECT_THAT(choice.why, HasSubstr("the kernel of bf16 nn 1024x1024x4096 with CLUSTER_M=2 is expected"));
}

// Stored times are of calls by themselves: clusters of eight are slower under the power limit, where calls are long.
TEST_F(DispatchClusters, LongCallsTakeWhatIsFasterUnderThePowerLimit) {
  for (const std::int64_t extent : {1024, 4096}) {
    const Problem near = bf16(extent, extent, 2048), wanted = bf16(extent, extent, 2112);
    Entry eight = entry(near, 2, 4, 0), alone = entry(bf16(extent, extent, 2176), 1, 1, 0);
    eight.median_us = model_us(near, alone.kernel->config) / 1.04;
    alone.median_us = model_us(alone.problem, alone.kernel->config);
    EXPECT_EQ(clusters_of(table({eight, alone}).choose(wanted)), extent > 2000 ? std::pair(1, 1) : std::pair(2, 4));
  }
}

TEST_F(DispatchClusters, ATunedSizeKeepsItsOwn) {
  for (const Problem& tuned : {tuned_, other_}) {
    const Choice choice = table({entry(tuned, 4, 1, 20)}).choose(tuned);
    EXPECT_EQ(choice.match, Match::exact);
    EXPECT_EQ(clusters_of(choice), std::pair(4, 1));
  }
}

TEST_F(DispatchClusters, TheNearestSizesKernelAsItIsHasItsOwn) {
  EXPECT_EQ(clusters_of(table({entry(tuned_, 4, 1, 20)}).choose(other_, Policy::nearest)), std::pair(4, 1));
}

TEST_F(DispatchClusters, OperandsAreSharedInTheDirectionsOfTheProgramAlone) {
  for (const auto& [m, n] : {std::pair(1, 1), std::pair(1, 4), std::pair(4, 1), std::pair(2, 2), std::pair(4, 2)}) {
    const DispatchTable dispatch = table({entry(tuned_, m, n, 20)});
    std::set<std::pair<int, int>> seen;
    for (const Problem& problem : {bf16(256, 8192, 512), other_, bf16(8192, 384, 2048), bf16(8192, 8192, 8192)}) {
      std::vector<Choice> choices = dispatch.alternatives(problem, 16);
      choices.push_back(dispatch.choose(problem));
      for (const Choice& choice : choices) {
        seen.insert(clusters_of(choice));
        EXPECT_EQ(clusters_of(choice).first > 1, m > 1) << choice.config.text();
        EXPECT_EQ(clusters_of(choice).second > 1, n > 1) << choice.config.text();
        EXPECT_EQ(choice.binary_hash, entry(tuned_, m, n, 20).kernel->binary_hash);
      }
    }
    EXPECT_EQ(seen.size(), m * n == 1 ? 1U : m > 1 && n > 1 ? 3U : 2U);
  }
}

TEST_F(DispatchClusters, NoClusterHasMoreThanHalfOfItsBlocksBeyondC) {
  const DispatchTable dispatch = table({entry(tuned_, 2, 1, 20)});
  const auto is_ever_of_four = [&](const Problem& problem) {
    std::vector<Choice> choices = dispatch.alternatives(problem, 16);
    choices.push_back(dispatch.choose(problem));
    return std::any_of(choices.begin(), choices.end(),
                       [](const Choice& choice) { return clusters_of(choice) == std::pair(4, 1); });
  };
  EXPECT_FALSE(is_ever_of_four(bf16(256, 2048, 4096)));
  EXPECT_TRUE(is_ever_of_four(bf16(264, 2048, 4096)));
}

// Calls whose A is stored along m have no correction, which would say of none that two clusters are nearly equal; and
// these are too short for the power limit.
TEST_F(DispatchClusters, WhatIsNotMeasuredHasToBeClearlyFaster) {
  const auto stored_along_m = [](std::int64_t m) { return packed_problem(Precision::bf16, Layout::tn, m, 1024, 1536); };
  const Problem tuned = stored_along_m(1024);
  const DispatchTable dispatch = table({entry(tuned, 4, 1, 20)});
  const Config own = entry(tuned, 4, 1, 20).kernel->config;
  const Config pairs = entry(tuned, 2, 1, 20).kernel->config;
  int others = 0;
  int nearly = 0;
  for (std::int64_t m = 520; m < 2500; m += 24) {
    const Problem problem = stored_along_m(m);
    const Choice choice = dispatch.choose(problem);
    const double gain = model_us(problem, own) / model_us(problem, pairs);
    others += choice.config != own ? 1 : 0;
    nearly += gain > 1 && gain < 1.02 ? 1 : 0;
    EXPECT_TRUE(gain > 1.02 || choice.config == own) << m << " " << gain;
    EXPECT_TRUE(gain < 1.08 || choice.config != own) << m << " " << gain;
  }
  EXPECT_GT(others, 0);
  EXPECT_GT(nearly, 0);
}

TEST_F(DispatchClusters, TheTimesOfItsProgramTeachWhatToExpect) {
  const auto expected_us = [&](double us) { return table({entry(tuned_, 4, 1, us)}).choose(other_).expected_us; };
  EXPECT_NEAR(expected_us(40), 2 * expected_us(20), 1e-9);
  Entry slow = entry(bf16(1024, 1032, 4096), 1, 1, 0);
  slow.median_us = 10 * model_us(slow.problem, slow.kernel->config);
  EXPECT_EQ(clusters_of(table({entry(tuned_, 4, 1, 20), slow}).choose(other_)), std::pair(2, 1))
      << "other programs' times do not count as its own";
}

TEST_F(DispatchClusters, WhatIsKnownOfThemCounts) {
  StoredKernels kernels{{entry(tuned_, 4, 1, 20), entry(bf16(1024, 8192, 4096), 2, 1, 110)}, {}, {}, {}, 0};
  EXPECT_EQ(clusters_of(DispatchTable(device_, kernels).choose(other_)), std::pair(2, 1));
  Entry slow = kernels.winners[1];
  slow.problem = bf16(2048, 1088, 4096);
  slow.median_us = 3 * model_us(slow.problem, slow.kernel->config);
  Entry fast = kernels.winners[0];
  fast.problem = slow.problem;
  fast.median_us = slow.median_us / 1.9;
  kernels.times = {slow, fast};
  EXPECT_EQ(clusters_of(DispatchTable(device_, kernels).choose(other_)), std::pair(4, 1));
}

TEST_F(DispatchClusters, NoMoreAreWeighedThanCanBe) {
  std::vector<Entry> winners;
  for (int i = 0; i < 450; ++i) {
    Entry each = entry(bf16(1024, 1024 + 8 * i, 4096), 4, 1, 0);
    each.median_us = model_us(each.problem, each.kernel->config);
    StoredKernel kernel = *each.kernel;
    kernel.binary_hash = fmt::format("program {}", i);
    each.kernel = std::make_shared<const StoredKernel>(kernel);
    winners.push_back(each);
  }
  EXPECT_EQ(clusters_of(table(winners).choose(other_)), std::pair(2, 1))
      << "of more than 768 those alone would be weighed that were measured around here";
}

TEST_F(DispatchClusters, InvariantProductsHaveThemToo) {
  Problem tuned = tuned_;
  Problem other = other_;
  tuned.invariant = other.invariant = true;
  const Choice choice = table({entry(tuned, 4, 1, 20)}).choose(other);
  EXPECT_EQ(clusters_of(choice), std::pair(2, 1));
  const Config stored = entry(tuned, 4, 1, 20).kernel->config;
  EXPECT_EQ(choice.family->summation(other, choice.config, device_), choice.family->summation(other, stored, device_));
}

}  // namespace
}  // namespace mmtune
