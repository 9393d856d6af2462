#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/templates/family/toy_family.h"

namespace mmtune {
namespace {

using test::Toy;
using test::toy_family;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Problem kProblem = packed_problem(Precision::fp32, Layout::nn, 256, 256, 256);

/// A plan that every GPU can run.
LaunchPlan modest_plan() {
  LaunchPlan plan;
  plan.steps.resize(1);
  plan.steps[0].block.x = 128;
  return plan;
}

std::string broken_limit(const LaunchPlan& plan, const DeviceSpec& device = catalog_gpu("h200"),
                         const Problem& problem = kProblem) {
  Rules rules;
  check_common_limits(problem, plan, device, rules);
  return std::string(rules.broken());
}

TEST(Rules, KeepTheFirstBrokenRule) {
  Rules rules;
  EXPECT_TRUE(rules.ok());
  rules.must(true, "holds");
  rules.must(false, "first");
  rules.must(false, "second");
  EXPECT_EQ(rules.broken(), "first");
}

TEST(Rules, TellWhatCannotRunFromWhatIsNotWorthTrying) {
  Rules rules;
  rules.worth(true, "holds");
  EXPECT_TRUE(rules.searched());
  rules.worth(false, "first");
  rules.worth(false, "second");
  EXPECT_TRUE(rules.ok());
  EXPECT_FALSE(rules.searched());
  EXPECT_EQ(rules.reason(), "first");
  EXPECT_EQ(rules.broken(), "");
}

TEST(CommonLimits, AcceptWhatRuns) { EXPECT_EQ(broken_limit(modest_plan()), ""); }

TEST(CommonLimits, Threads) {
  LaunchPlan plan = modest_plan();
  plan.steps[0].block = {32, 33, 1};
  EXPECT_EQ(broken_limit(plan), "the block has no more threads than the device allows");
}

TEST(CommonLimits, SharedMemoryUpToWhatOptingInGives) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  LaunchPlan plan = modest_plan();
  plan.steps[0].smem_bytes = static_cast<int>(gpu.smem_per_block_optin);
  EXPECT_EQ(broken_limit(plan), "");
  plan.steps[0].smem_bytes += 1;
  EXPECT_EQ(broken_limit(plan), "shared memory fits the device");
}

TEST(CommonLimits, Registers) {
  LaunchPlan plan = modest_plan();
  plan.work.registers = 256;
  EXPECT_EQ(broken_limit(plan), "the estimated registers fit a thread");
  plan.work.registers = 129;  // 136 are allocated
  plan.steps[0].block.x = 512;
  EXPECT_EQ(broken_limit(plan), "the estimated registers fit a block");
  plan.work.registers = 128;
  EXPECT_EQ(broken_limit(plan), "");
}

TEST(CommonLimits, OldGpusHaveFewerRegistersPerThread) {
  LaunchPlan plan = modest_plan();
  plan.work.registers = 64;
  EXPECT_EQ(broken_limit(plan, catalog_gpu("gt740m")), "the estimated registers fit a thread");
}

TEST(CommonLimits, Grid) {
  LaunchPlan plan = modest_plan();
  plan.steps[0].grid.x = 2147483647;
  EXPECT_EQ(broken_limit(plan), "");
  plan.steps[0].grid.x += 1;
  EXPECT_EQ(broken_limit(plan), "the grid's x extent is at most 2^31-1");
  plan.steps[0].grid = {1, 1, 65536};
  EXPECT_EQ(broken_limit(plan), "the grid's y and z extents are at most 65535");
}

TEST(CommonLimits, Clusters) {
  LaunchPlan plan = modest_plan();
  plan.steps[0].cluster.x = 2;
  plan.steps[0].grid.x = 4;
  EXPECT_EQ(broken_limit(plan), "");
  EXPECT_EQ(broken_limit(plan, catalog_gpu("a100")), "the cluster has no more blocks than the device allows");
  plan.steps[0].grid.x = 5;
  EXPECT_EQ(broken_limit(plan), "whole clusters make up the grid");
  plan.steps[0].grid = {4, 3, 1};
  EXPECT_EQ(broken_limit(plan), "");
  plan.steps[0].cluster = {2, 2, 1};
  EXPECT_EQ(broken_limit(plan), "whole clusters make up the grid");
  plan.steps[0].grid = {12, 8, 4};
  plan.steps[0].cluster = {4, 4, 2};
  EXPECT_EQ(broken_limit(plan), "the cluster has no more blocks than the device allows");
}

TEST(CommonLimits, LookAtEveryStep) {
  LaunchPlan plan = modest_plan();
  plan.steps.push_back(plan.steps[0]);
  plan.steps[1].block.x = 2048;
  EXPECT_EQ(broken_limit(plan), "the block has no more threads than the device allows");
}

TEST(CommonLimits, Alignment) {
  LaunchPlan plan = modest_plan();
  plan.needs = {16, 16, 16};
  const Problem odd = packed_problem(Precision::fp32, Layout::nn, 256, 255, 256);
  EXPECT_EQ(broken_limit(plan, catalog_gpu("h200"), odd), "the operands are aligned for the kernel's vector width");
}

TEST(Explain, GivesTheNumbersOfACommonLimit) {
  const DeviceSpec& gpu = catalog_gpu("k20c");
  const std::string text = explain(toy_family(), kProblem, Config::parse("BM=64 BN=16 WIDTH=1"), gpu);
  EXPECT_EQ(text, "toy BM=64 BN=16 WIDTH=1: needs 64 KiB of shared memory, device allows 48 KiB");
}

TEST(Explain, GivesTheSentenceOfAFamilysRule) {
  const std::string text = explain(toy_family(), kProblem, Config::parse("BM=16 BN=128 WIDTH=1"), catalog_gpu("h200"));
  EXPECT_THAT(text, AllOf(HasSubstr("toy BM=16 BN=128 WIDTH=1: "), HasSubstr(std::string(Toy::kSquareEnough))));
}

TEST(Explain, GivesBothAlignments) {
  const Problem odd = packed_problem(Precision::fp32, Layout::nn, 256, 255, 256);
  EXPECT_THAT(explain(toy_family(), odd, Config::parse("BM=32 BN=32 WIDTH=4"), catalog_gpu("h200")),
              HasSubstr("aligned to 16, 16 and 16 bytes, they are aligned to 16, 4 and 4"));
}

std::string completed(std::string_view settings, const DeviceSpec& device = catalog_gpu("h200")) {
  return toy_family().complete(Config::parse(settings), kProblem, device).text();
}

std::string error_of(std::string_view settings, const DeviceSpec& device = catalog_gpu("h200")) {
  try {
    completed(settings, device);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Family, CompletesInTableOrder) { EXPECT_EQ(completed("WIDTH=4 BM=64"), "BM=64 BN=64 WIDTH=4"); }

TEST(Family, CompletesWithDefaultsAsFarAsTheyGoWithWhatIsGiven) {
  EXPECT_EQ(completed(""), toy_family().default_config(kProblem).text());
  EXPECT_EQ(completed("BM=64"), "BM=64 BN=64 WIDTH=1");
  EXPECT_EQ(completed("BM=16"), "BM=16 BN=32 WIDTH=1") << "BN is at most twice BM";
  EXPECT_EQ(completed("BM=32"), "BM=32 BN=64 WIDTH=1");
  EXPECT_EQ(completed("BM=16 WIDTH=4"), "BM=16 BN=32 WIDTH=4");
}

TEST(Family, CompletesWithinTheLimitsOfTheGpu) {
  DeviceSpec small = catalog_gpu("h200");
  small.max_threads_per_block = 256;  // A block has BM * BN / 4 threads.
  EXPECT_EQ(completed("BM=32", small), "BM=32 BN=32 WIDTH=1");
  EXPECT_THAT(error_of("BN=64", small), HasSubstr("needs 512 threads per block, device allows 256"));
}

TEST(Family, WhatIsGivenWholeStaysAlsoWhereItCannotRun) {
  EXPECT_EQ(completed("BM=16 BN=128 WIDTH=1"), "BM=16 BN=128 WIDTH=1");
}

TEST(Family, SaysWhatNothingGoesWith) {
  EXPECT_THAT(error_of("BM=16 BN=128"), AllOf(HasSubstr("toy BM=16 BN=128: "), HasSubstr(Toy::kSquareEnough.data())));
  EXPECT_THAT(error_of("BM=64", catalog_gpu("k20c")), AllOf(HasSubstr("toy BM=64: "), HasSubstr("needs 64 KiB")));
}

/// Two codes with names, and a default that only goes with one of them.
struct Named : Toy {
  struct Params {
    Param mode{1}, copies{3};
  };
  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"MODE", &Params::mode, {{0, "off"}, {1, "on"}}, "whether there are copies"},
        {"COPIES", &Params::copies, {0, 1, 2, 3, 4}, "how many"}};
    return rows;
  }
  static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
    rules.worth(p.copies == 4, "four are best");
    rules.must(p.mode == 1 || p.copies == 0, "copies need a mode");
  }
  static LaunchPlan plan(const Problem&, const Params&, const DeviceSpec&) { return modest_plan(); }
};

TEST(Family, ReadsNamesOfValuesAndWritesNumbers) {
  const FamilyOf<Named> family;
  EXPECT_EQ(family.parse("MODE=off COPIES=2").text(), "MODE=0 COPIES=2");
  EXPECT_EQ(family.parse("MODE=1"), family.parse("MODE=on"));
  const auto refused = [&](const char* text) { return ::testing::ThrowsMessage<UsageError>(HasSubstr(text)); };
  EXPECT_THAT([&] { family.parse("MODE=sometimes"); },
              refused("MODE=sometimes is not allowed; choose one of 0 off, 1 on"));
  EXPECT_THAT([&] { family.parse("MODE=2"); }, refused("MODE=2 is not allowed"));
  EXPECT_THAT([&] { family.parse("COPIES=on"); }, refused("COPIES=on is not allowed; choose one of 0, 1, 2, 3, 4"));
  EXPECT_THAT([&] { family.parse("SPEED=1"); }, refused("'SPEED' is unknown; known are MODE, COPIES"));
}

TEST(Family, ListsItsRulesAndThoseOfAllFamiliesInTheirOrder) {
  const std::vector<RuleInfo> rules = FamilyOf<Named>().all_rules(kProblem, catalog_gpu("h200"));
  ASSERT_GT(rules.size(), 2u);
  EXPECT_EQ(rules[0], (RuleInfo{false, "four are best"}));
  EXPECT_EQ(rules[1], (RuleInfo{true, "copies need a mode"}));
  for (std::size_t i = 2; i < rules.size(); ++i) EXPECT_TRUE(rules[i].is_must) << rules[i].sentence;
}

TEST(Family, CompletesWithSeveralStepsWhateverIsWorthTrying) {
  const FamilyOf<Named> family;
  const auto text = [&](const char* settings) {
    return family.complete(family.parse(settings), kProblem, catalog_gpu("h200")).text();
  };
  EXPECT_EQ(text("MODE=off"), "MODE=0 COPIES=0");
  EXPECT_EQ(text("COPIES=0"), "MODE=1 COPIES=0");
}

TEST(Family, RefusesUnknownNamesAndValues) {
  EXPECT_THAT(error_of("BK=8"), AllOf(HasSubstr("'BK'"), HasSubstr("BM, BN, WIDTH")));
  EXPECT_THAT(error_of("BM=48"), AllOf(HasSubstr("BM=48"), HasSubstr("16, 32, 64")));
}

TEST(Families, AreAlphabeticalAndFindable) {
  std::string_view last;
  for (const Family* family : families()) {
    EXPECT_LT(last, family->name());
    last = family->name();
    EXPECT_EQ(find_family(last), family);
    EXPECT_EQ(&family_named(last), family);
  }
  EXPECT_EQ(find_family("nonsense"), nullptr);
  EXPECT_THROW(family_named("nonsense"), UsageError);
}

}  // namespace
}  // namespace mmtune
