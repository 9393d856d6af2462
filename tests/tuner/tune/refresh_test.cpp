// Stale decisions are made again among what is stored, from the command line. The GPU is a model, the program and its
// database are real.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "db/store.h"
#include "templates/family/render.h"
#include "test_paths.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"
#include "tests/tuner/database_faults.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

constexpr auto kTuneTiled = "tune --device model:h200 --sizes 64 --family tiled --strategy exhaustive";

class Refresh : public Cli {
 protected:
  void SetUp() override {
    if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
    const auto tuned = mmtune(kTuneTiled);
    ASSERT_EQ(tuned.code, 0) << tuned.err;
  }

  Winner winner() const { return Store::open(path("default.db"), OpenMode::read_only).winners().at(0); }
};

TEST_F(Refresh, LeavesCurrentDecisionsAlone) {
  const auto before = content(path("default.db"));
  const auto result = mmtune("refresh --device model:h200");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("0 of 0 refreshed, 0 failed; 1 are current, 0 wrong"));
  EXPECT_EQ(content(path("default.db")), before);
}

TEST_F(Refresh, MeasuresTheStoredAgainAndKeepsTheSearch) {
  const Winner before = winner();
  const auto result = mmtune("refresh --device model:h200 --all -vv --format csv");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 of 1 refreshed"));
  EXPECT_THAT(result.out, HasSubstr("fp32,nn,64,64,64,tiled,"));
  const Winner after = winner();
  EXPECT_EQ(after.search, before.search);
  EXPECT_EQ(after.candidates, before.candidates);
  EXPECT_EQ(after.trial.key.config, before.trial.key.config);
  EXPECT_THAT(mmtune(kTuneTiled).err, HasSubstr("1 known before"));
}

TEST_F(Refresh, RacesWhatMergedDatabasesDecidedOtherwise) {
  // The slowest: it would not be among the fastest that are stored.
  test::run_raw(
      path("default.db"),
      "INSERT INTO rival SELECT device_id, problem_id, evidence, kernel_id, median_us, 'elsewhere', 7, created, 0, "
      "1 FROM trial WHERE outcome = 0 ORDER BY median_us DESC LIMIT 1");
  const Winner before = winner();
  EXPECT_EQ(before.near_ties, 1);
  EXPECT_THAT(mmtune("show --format csv").out, HasSubstr(",stale,merged with 1 other decision as fast,"));
  const auto result = mmtune("refresh --device model:h200 -vv");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 of 1 refreshed"));
  const auto trials = Store::open(path("default.db"), OpenMode::read_only).trials();
  const auto slowest = std::max_element(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
    return a.timing.median_us < b.timing.median_us;
  });
  EXPECT_THAT(result.err, HasSubstr(slowest->key.config));
  EXPECT_EQ(winner().near_ties, 0);
  EXPECT_EQ(winner().search, before.search);
}

TEST_F(Refresh, WhatIsWrongHasToBeTunedAgain) {
  constexpr std::string_view kKernel = "templates/families/tiled/kernel.cu";
  const fs::path root = path("templates");
  fs::create_directories((root / kKernel).parent_path());
  fs::copy(fs::path(MMTUNE_SOURCE_DIR) / "templates/device", root / "templates/device");
  std::ofstream(root / kKernel) << TemplateFiles::embedded().text(std::string(kKernel)) << "// edited\n";
  const test::ScopedEnv directory("MMTUNE_TEMPLATE_DIR", root.c_str());

  const auto result = mmtune("refresh --device model:h200 --all");
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("to be tuned again: its kernel has changed since"));
  EXPECT_THAT(result.err, HasSubstr("0 of 0 refreshed, 0 failed; 0 are current, 1 wrong"));
  EXPECT_THAT(mmtune("show").out, HasSubstr("wrong: its kernel has changed since"));
}

}  // namespace
}  // namespace mmtune
