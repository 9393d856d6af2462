// --shard, and what Slurm and Kubernetes say instead.
#include "tuner/commands/shard_option.h"

#include <gmock/gmock.h>
#include <mmtune/error.h>

#include <algorithm>
#include <list>
#include <utility>

#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using test::ScopedEnv;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kVariables[] = {
    "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_PROCID",
    "SLURM_NTASKS",        "SLURM_JOB_ID",           "SLURM_STEP_ID",        "JOB_COMPLETION_INDEX",  "MMTUNE_SHARDS"};

/// The share that is chosen where these variables alone are set.
ChosenShare chosen(const std::vector<std::pair<const char*, const char*>>& variables) {
  std::list<ScopedEnv> scopes;
  for (const char* each : kVariables) scopes.emplace_back(each, nullptr);
  for (const auto& [name, value] : variables) scopes.emplace_back(name, value);
  return share_in_environment();
}

TEST(ShardOption, Texts) {
  EXPECT_EQ(parse_share("3/16"), (Share{3, 16}));
  EXPECT_EQ(parse_share("1/1"), Share{});
  EXPECT_EQ(parse_share("none"), Share{});
  for (const auto* text : {"", "3", "0/4", "5/4", "1/0", "1/2/3", "-1/4", "a/b", "1/1000001", "/", "1/"}) {
    EXPECT_THROW(parse_share(text), UsageError) << text;
  }
}

TEST(ShardOption, NothingIsSharedWhereNothingSaysSo) {
  EXPECT_EQ(chosen({}).origin, "");
  EXPECT_EQ(chosen({{"SLURM_JOB_ID", "1"}, {"SLURM_PROCID", "0"}}).origin, "");
  EXPECT_EQ(chosen({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}).origin, "");
  EXPECT_EQ(chosen({{"MMTUNE_SHARDS", "8"}}).origin, "");
}

TEST(ShardOption, TasksOfAnArrayCountFromItsFirst) {
  const auto task = [](const char* id) {
    return chosen({{"SLURM_ARRAY_TASK_ID", id},
                   {"SLURM_ARRAY_TASK_COUNT", "4"},
                   {"SLURM_ARRAY_TASK_MIN", "3"},
                   {"SLURM_ARRAY_TASK_STEP", "2"}});
  };
  EXPECT_EQ(task("3").share, (Share{1, 4}));
  EXPECT_EQ(task("9").share, (Share{4, 4}));
  EXPECT_EQ(task("9").origin, "SLURM_ARRAY_TASK_ID 9 of 4");
  for (const auto* id : {"1", "4", "11", "x", "-3", "99999999999"}) EXPECT_THROW(task(id), UsageError) << id;
  EXPECT_THROW(chosen({{"SLURM_ARRAY_TASK_ID", "0"}}), UsageError);
}

TEST(ShardOption, TasksThatSrunStarted) {
  EXPECT_EQ(chosen({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}).share, (Share{2, 2}));
  EXPECT_EQ(chosen({{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}).share,
            (Share{2, 2}));
  EXPECT_THROW(chosen({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "2"}}), UsageError);
}

TEST(ShardOption, ABatchScriptIsNoTask) {
  EXPECT_EQ(chosen({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).origin, "")
      << "the other three would never run";
}

TEST(ShardOption, TasksOfATaskOfAnArray) {
  EXPECT_EQ(chosen({{"SLURM_ARRAY_TASK_ID", "2"},
                    {"SLURM_ARRAY_TASK_COUNT", "3"},
                    {"SLURM_STEP_ID", "0"},
                    {"SLURM_PROCID", "1"},
                    {"SLURM_NTASKS", "4"}})
                .share,
            (Share{10, 12}));
}

TEST(ShardOption, PodsNeedToKnowHowManyThereAre) {
  EXPECT_EQ(chosen({{"JOB_COMPLETION_INDEX", "0"}, {"MMTUNE_SHARDS", "8"}}).share, (Share{1, 8}));
  EXPECT_EQ(chosen({{"JOB_COMPLETION_INDEX", "7"}, {"MMTUNE_SHARDS", "8"}}).share, (Share{8, 8}));
  try {
    chosen({{"JOB_COMPLETION_INDEX", "8"}, {"MMTUNE_SHARDS", "8"}});
    FAIL() << "there is no ninth share of eight";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), StartsWith("JOB_COMPLETION_INDEX 8: shares count from 0, and there are 8; give --shard"));
  }
  EXPECT_THROW(chosen({{"JOB_COMPLETION_INDEX", "0"}, {"MMTUNE_SHARDS", "0"}}), UsageError);
  try {
    chosen({{"JOB_COMPLETION_INDEX", "0"}});
    FAIL() << "every pod would tune everything";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("MMTUNE_SHARDS"));
  }
}

class ShardCli : public Cli {
 protected:
  /// "64,128": the sizes that a run would tune.
  std::string planned(const std::string& variables, const std::string& options) const {
    const Result result = shell(fmt::format(
        "{} '{}' tune --device model:h200 --sizes 64,128,256 --family naive --dry-run --format csv {} | cut -d, -f3",
        variables, MMTUNE_BINARY, options));
    std::string sizes = result.out;
    std::replace(sizes.begin(), sizes.end(), '\n', ' ');
    return sizes;
  }
};

TEST_F(ShardCli, TheOptionGoesBeforeTheEnvironment) {
  const std::string slurm = "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=3";
  EXPECT_EQ(planned(slurm, ""), "m 128 ");
  EXPECT_EQ(planned(slurm, "--shard 1/3"), "m 64 ");
  EXPECT_EQ(planned(slurm, "--shard none"), "m 64 128 256 ");
}

TEST_F(ShardCli, SaysWhichShareByWhat) {
  const Result result = shell(fmt::format(
      "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 '{}' tune --device model:h200 --sizes 64,128,256 --family naive "
      "--dry-run",
      MMTUNE_BINARY));
  EXPECT_THAT(result.err, HasSubstr("share 2/2, by SLURM_ARRAY_TASK_ID 1 of 2: 1 of 3 problems; --shard none"));
  EXPECT_THAT(mmtune("tune --device model:h200 --sizes 64 --dry-run").err, Not(HasSubstr("share")));
}

TEST_F(ShardCli, AShareWithoutProblemsLeavesADatabase) {
  const Result result = mmtune("tune --device model:h200 --sizes 64 --shard 2/2");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("0 of 1 problem"));
  EXPECT_THAT(mmtune("db check --format csv").out, HasSubstr("\n0,0,0,0\n"));
}

TEST_F(ShardCli, WhatDoesNotGoTogetherIsRefused) {
  const Result result =
      shell(fmt::format("JOB_COMPLETION_INDEX=3 '{}' tune --device model:h200 --sizes 64", MMTUNE_BINARY));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("MMTUNE_SHARDS"), HasSubstr("--shard none")));
}

}  // namespace
}  // namespace mmtune
