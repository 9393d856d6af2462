#include "templates/space/space.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/templates/family/settings.h"
#include "tests/templates/family/toy_family.h"

namespace mmtune {
namespace {

using test::Toy;
using test::toy_family;

const Problem kFp32Cube = packed_problem(Precision::fp32, Layout::nn, 256, 256, 256);
const Problem kOdd = packed_problem(Precision::fp32, Layout::nn, 256, 255, 256);

std::vector<std::string> texts(const std::vector<Config>& configs) {
  std::vector<std::string> all;
  for (const Config& config : configs) all.push_back(config.text());
  return all;
}

TEST(Space, CountsEachRemovedConfigurationOnce) {
  const SearchSpace space(toy_family(), kOdd, catalog_gpu("k20c"));
  EXPECT_EQ(space.size(), 3 * 4 * 2);
  const SpaceCount count = space.count();
  EXPECT_EQ(count.total, 24);
  EXPECT_EQ(count.removed.at(Toy::kSquareEnough), 6);                                      // 16x64, 16x128 and 32x128
  EXPECT_EQ(count.removed.at("the block has no more threads than the device allows"), 2);  // 64x128: 2048 threads
  EXPECT_EQ(count.removed.at("shared memory fits the device"), 6);                         // BM=64 with the other three
  EXPECT_EQ(count.removed.at("the operands are aligned for the kernel's vector width"), 5);
  EXPECT_EQ(count.searched, 5);
}

TEST(Space, VisitsConfigurationsInTableOrder) {
  const SearchSpace space(toy_family(), kOdd, catalog_gpu("k20c"));
  EXPECT_THAT(texts(space.all()),
              ::testing::ElementsAre("BM=16 BN=16 WIDTH=1", "BM=16 BN=32 WIDTH=1", "BM=32 BN=16 WIDTH=1",
                                     "BM=32 BN=32 WIDTH=1", "BM=32 BN=64 WIDTH=1"));
}

TEST(Space, NumbersConfigurationsInTableOrder) {
  const SearchSpace space(toy_family(), kOdd, catalog_gpu("k20c"));
  EXPECT_EQ(space.config(0).text(), "BM=16 BN=16 WIDTH=1");
  EXPECT_EQ(space.config(1).text(), "BM=16 BN=16 WIDTH=4");
  EXPECT_EQ(space.config(2).text(), "BM=16 BN=32 WIDTH=1");
  EXPECT_EQ(space.config(23).text(), "BM=64 BN=128 WIDTH=4");
}

TEST(Space, NeighboursDifferByOneStepOrByOneUpAndOneDown) {
  const SearchSpace space(toy_family(), kFp32Cube, catalog_gpu("h200"));
  EXPECT_THAT(texts(space.neighbours(Config::parse("BM=32 BN=64 WIDTH=1"))),
              ::testing::UnorderedElementsAre("BM=64 BN=64 WIDTH=1", "BM=32 BN=32 WIDTH=1", "BM=32 BN=64 WIDTH=4",
                                              "BM=64 BN=32 WIDTH=1", "BM=32 BN=32 WIDTH=4"));
}

TEST(Space, ANeighboursSecondParameterFollowsAsFarAsTheRulesAsk) {
  constexpr auto kBlock =
      "BM={} BN=256 BK=16 TM=8 TN=16 LANES_N=8 LOAD=2 STAGES=2 UNROLL=16 ORDER=1 GROUP=8 MIN_BLOCKS={} PACK=0 SPLIT=1 "
      "REDUCE=0 STREAM=0";
  const auto block = [&](int rows, int blocks) {
    return test::completed("simt", fmt::format(fmt::runtime(kBlock), rows, blocks)).text();
  };
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 2048, 2048, 2048);
  const SearchSpace space(family_named("simt"), problem, catalog_gpu("h200"));
  const auto near = texts(space.neighbours(Config::parse(block(32, 4))));
  EXPECT_THAT(near, ::testing::Contains(block(64, 2))) << "twice the rows leave registers for half the blocks";
  EXPECT_THAT(near, ::testing::Not(::testing::Contains(block(64, 1)))) << "further than the rules ask";
  EXPECT_THAT(near, ::testing::SizeIs(std::set(near.begin(), near.end()).size())) << "each once";
  EXPECT_THAT(texts(space.neighbours(Config::parse(block(64, 2)))), ::testing::Contains(block(32, 4)));
}

TEST(Space, ContainsOnlyCompleteConfigurationsThatObeyTheRules) {
  const SearchSpace space(toy_family(), kFp32Cube, catalog_gpu("h200"));
  EXPECT_TRUE(space.contains(Config::parse("BM=32 BN=64 WIDTH=1")));
  EXPECT_FALSE(space.contains(Config::parse("BM=32 BN=64")));
  EXPECT_FALSE(space.contains(Config::parse("BN=64 BM=32 WIDTH=1")));
  EXPECT_FALSE(space.contains(Config::parse("BM=32 BN=48 WIDTH=1")));
  EXPECT_FALSE(space.contains(Config::parse("BM=16 BN=128 WIDTH=1")));
}

/// One parameter of which a part cannot run and another is not worth trying.
struct Choosy {
  struct Params {
    Param a{1};
  };
  static constexpr std::string_view kName = "choosy";
  static constexpr std::string_view kSummary = "for tests";
  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {{"A", &Params::a, {1, 2, 3, 4, 5, 6}, ""}};
    return rows;
  }
  static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
    rules.worth(p.a > 2, "A is above 2");
    rules.must(p.a < 6, "A is below 6");
    rules.must(p.a != 2, "A is not 2");
    rules.worth(p.a != 4, "A is not 4");
  }
  static LaunchPlan plan(const Problem&, const Params&, const DeviceSpec&) {
    LaunchPlan plan;
    plan.steps.resize(1);
    return plan;
  }
};

TEST(Space, LeavesOutWhatIsNotWorthTrying) {
  const FamilyOf<Choosy> family;
  const SearchSpace space(family, kFp32Cube, catalog_gpu("h200"));
  const SpaceCount count = space.count();
  EXPECT_EQ(count.total, 6);
  EXPECT_THAT(count.removed, ::testing::ElementsAre(::testing::Pair("A is below 6", 1)));
  EXPECT_THAT(count.not_worth,
              ::testing::ElementsAre(::testing::Pair("A is above 2", 2), ::testing::Pair("A is not 4", 1)))
      << "A=2 cannot run either, but what speaks first against it is its worth";
  EXPECT_EQ(count.searched, 2);
  EXPECT_THAT(texts(space.all()), ::testing::ElementsAre("A=3", "A=5"));
  EXPECT_THAT(texts(space.neighbours(Config::parse("A=4"))), ::testing::ElementsAre("A=3", "A=5"));
  EXPECT_THAT(texts(space.neighbours(Config::parse("A=5"))), ::testing::ElementsAre("A=3")) << "not only one place on";
  EXPECT_FALSE(space.contains(Config::parse("A=1")));
  EXPECT_EQ(family.broken_rule(kFp32Cube, Config::parse("A=1"), catalog_gpu("h200")), "");
}

/// Six parameters of ten values: a million points, of which one rule keeps a few.
struct Wide {
  struct Params {
    Param a{0}, b{0}, c{0}, d{0}, e{0}, f{0};
  };
  static constexpr std::string_view kName = "wide";
  static constexpr std::string_view kSummary = "for tests";
  static const ParamTable<Params>& table() {
    static const std::vector<ParamValue> values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const ParamTable<Params> rows = {{"A", &Params::a, values, ""}, {"B", &Params::b, values, ""},
                                            {"C", &Params::c, values, ""}, {"D", &Params::d, values, ""},
                                            {"E", &Params::e, values, ""}, {"F", &Params::f, values, ""}};
    return rows;
  }
  static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
    rules.must(p.a + p.b + p.c + p.d + p.e + p.f == 54, "all are nine");
  }
  static LaunchPlan plan(const Problem&, const Params&, const DeviceSpec&) {
    LaunchPlan plan;
    plan.steps.resize(1);
    return plan;
  }
};

TEST(Space, CountsAMillionPoints) {
  const FamilyOf<Wide> family;
  const SearchSpace space(family, kFp32Cube, catalog_gpu("h200"));
  const SpaceCount count = space.count();
  EXPECT_EQ(count.total, 1000000);
  EXPECT_EQ(count.searched, 1);
  EXPECT_THAT(texts(space.all()), ::testing::ElementsAre("A=9 B=9 C=9 D=9 E=9 F=9"));
}

/// A family without parameters has one configuration, the empty one.
struct Fixed {
  struct Params {};
  static constexpr std::string_view kName = "fixed";
  static constexpr std::string_view kSummary = "for tests";
  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows;
    return rows;
  }
  static void rules(const Problem&, const Params&, const DeviceSpec&, Rules&) {}
  static LaunchPlan plan(const Problem&, const Params&, const DeviceSpec&) {
    LaunchPlan plan;
    plan.steps.resize(1);
    return plan;
  }
};

TEST(Space, AFamilyWithoutParametersHasOnePoint) {
  const FamilyOf<Fixed> family;
  const SearchSpace space(family, kFp32Cube, catalog_gpu("h200"));
  EXPECT_EQ(space.all(), std::vector<Config>{Config()});
  EXPECT_TRUE(space.contains(Config()));
  EXPECT_TRUE(space.neighbours(Config()).empty());
}

}  // namespace
}  // namespace mmtune
