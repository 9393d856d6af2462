// The verbs that read and write databases, on a file with one measured, one predicted and one failed trial.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "db/store.h"
#include "templates/base/names.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/db/raw_sql.h"
#include "tests/db/samples.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCode = "machine code";

Trial stored_trial(std::int64_t n, Evidence evidence, Outcome outcome) {
  Trial trial;
  trial.key.device = key_of(catalog_gpu("h200"));
  trial.key.problem = packed_problem(Precision::fp32, Layout::nn, n, n, n);
  trial.key.family = "naive";
  trial.key.config = "ABC=1";
  trial.key.source_hash = "ffeeddccbbaa99887766554433221100";
  trial.key.evidence = evidence;
  trial.outcome = outcome;
  trial.binary_hash = hash_machine_code(kCode);
  trial.timing.median_us = 100;
  trial.timing.conditions.mode = evidence == Evidence::measured ? "graph" : "model";
  trial.occupancy = 0.5;
  return trial;
}

class CliDb : public Cli {
 protected:
  CliDb() {
    Binary binary;
    test::set_code(binary, kCode);
    binary.target = "sm_90a";
    binary.registers = 32;
    auto store = Store::open(path("default.db"), OpenMode::read_write);
    for (const auto& trial :
         {stored_trial(512, Evidence::measured, Outcome::ok), stored_trial(1024, Evidence::predicted, Outcome::ok)}) {
      store.put(trial, &binary);
      store.put_winner(trial.key, "search", 1);
    }
    store.put(stored_trial(64, Evidence::measured, Outcome::wrong_result), &binary);
  }

  std::int64_t trial_count(const std::string& file) const {
    return Store::open(path(file), OpenMode::read_only).check().trials;
  }
};

TEST_F(CliDb, AFileOrAFolderThatIsMissingSaysToTuneFirst) {
  for (const std::string file : {"missing.db", "missing/mmtune.db"}) {
    const Result check = mmtune(fmt::format("db check --db '{}'", path(file)));
    EXPECT_EQ(check.code, 5);
    EXPECT_THAT(check.err, HasSubstr("does not exist; tune first")) << file;
  }
}

TEST_F(CliDb, AnOlderFileNamesTheCommandThatMigratesIt) {
  std::ifstream file(MMTUNE_SOURCE_DIR "/tests/db/version_1.sql");
  const std::string schema{std::istreambuf_iterator<char>(file), {}};
  const std::string old = path("an 'old' one.db");
  test::run_raw(old, schema + "PRAGMA application_id = 0x6d6d7475; PRAGMA user_version = 1;");
  std::filesystem::permissions(old, std::filesystem::perms(0600));
  const std::string show = "show --db " + shell_word(old);
  const Result refused = mmtune(show);
  EXPECT_EQ(refused.code, 5);
  const auto begin = refused.err.find("`mmtune ");
  ASSERT_NE(begin, std::string::npos) << refused.err;
  const std::string command = refused.err.substr(begin + 8, refused.err.find('`', begin + 1) - begin - 8);
  EXPECT_EQ(mmtune(command).code, 0) << command;
  EXPECT_EQ(mmtune(show).code, 0) << mmtune(show).err;
}

TEST_F(CliDb, ShowFilters) {
  const auto all = mmtune("show --format csv");
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("\nfp32,nn,512,512,512,naive,ABC=1,measured,100.000,"),
                             HasSubstr("\nfp32,nn,1024,1024,1024,naive,ABC=1,predicted,100.000,")));
  EXPECT_EQ(mmtune("show --format csv --device h200").out, all.out);
  EXPECT_EQ(mmtune("show --format csv --device model:h200 --precision fp32,fp16 --layout nn").out, all.out);
  for (const auto* filter : {"--device a100", "--precision fp16", "--layout tt"}) {
    const auto none = mmtune(fmt::format("show --format csv {}", filter));
    EXPECT_EQ(none.code, 0) << none.err;
    EXPECT_THAT(none.out, Not(HasSubstr("naive"))) << filter;
  }
}

TEST_F(CliDb, TableOnATerminalHasColorOnlyIfForced) {
  EXPECT_THAT(mmtune("show").out, Not(HasSubstr("\033")));
  EXPECT_THAT(mmtune("show --color always").out, HasSubstr("\033"));
}

TEST_F(CliDb, CheckCounts) {
  const auto result = mmtune("db check --format csv");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "trials,binaries,winners,faults\n3,1,2,0\n");
}

TEST_F(CliDb, ExportThenMerge) {
  const auto copied = mmtune(fmt::format("db export '{}'", path("copy.db")));
  EXPECT_EQ(copied.code, 0);
  EXPECT_THAT(copied.err, HasSubstr("copy.db: written"));
  EXPECT_GT(trial_count("copy.db"), 0);
  const auto again = mmtune(fmt::format("db export '{}'", path("copy.db")));
  EXPECT_EQ(again.code, 5) << "an existing file must not be overwritten";
  const auto merge = mmtune(fmt::format("db merge '{}' --db '{}' --format csv", path("default.db"), path("new.db")));
  EXPECT_EQ(merge.code, 0) << merge.err;
  EXPECT_THAT(merge.out, HasSubstr("\n1,3,0,2,0,0,0\n"));
}

TEST_F(CliDb, MergesAnyNumberOfFiles) {
  for (const auto* name : {"one.db", "two.db"}) {
    ASSERT_EQ(mmtune(fmt::format("db export '{}'", path(name))).code, 0);
  }
  auto two = Store::open(path("two.db"), OpenMode::read_write);
  Trial other = stored_trial(512, Evidence::measured, Outcome::ok);
  other.key.config = "ABC=2";
  two.put(other);
  two.put_winner(other.key, "search", 1);
  const auto merge = mmtune(fmt::format("db merge '{}' '{}' '{}' --db '{}' --format csv", path("one.db"),
                                        path("two.db"), path("one.db"), path("fleet.db")));
  EXPECT_EQ(merge.code, 0) << merge.err;
  EXPECT_EQ(merge.out, "files,trials_added,trials_kept,winners_changed,settled,near_ties,rejected\n3,4,6,2,0,1,0\n");
  EXPECT_THAT(merge.err, AllOf(HasSubstr("fp32 nn 512x512x512: decided otherwise elsewhere"), HasSubstr("refresh")));
  EXPECT_EQ(mmtune("db merge").code, 2);
}

TEST_F(CliDb, MergeOfAMissingFileLeavesNoDatabaseBehind) {
  for (const auto* other : {"missing.db", "new.db"}) {
    const auto merge = mmtune(fmt::format("db merge --db '{}' '{}'", path("new.db"), path(other)));
    EXPECT_EQ(merge.code, 5);
    EXPECT_THAT(merge.err, AllOf(HasSubstr(other), HasSubstr("does not exist"), HasSubstr("; ")));
    EXPECT_FALSE(std::filesystem::exists(path("new.db"))) << other;
  }
}

TEST_F(CliDb, TheDriverIsAskedOnceForGpusThatNoModelIsOf) {
  {
    auto store = Store::open(path("default.db"), OpenMode::read_write);
    for (const std::int64_t n : {128, 256, 384}) {
      Trial trial = stored_trial(n, Evidence::measured, Outcome::ok);
      trial.key.device.name = "No Such Card";
      store.put(trial);
      store.put_winner(trial.key, "search", 1);
    }
  }
  const Result shown = mmtune("show -vv");
  EXPECT_THAT(shown.out, HasSubstr("No Such Card"));
  constexpr std::string_view kFailure = "GPUs cannot be looked up";  // where there is no driver
  EXPECT_EQ(shown.err.find(kFailure, shown.err.find(kFailure) + 1), shown.err.npos) << shown.err;
}

TEST_F(CliDb, ExportsWinnersAlone) {
  EXPECT_EQ(mmtune(fmt::format("db export --winners '{}'", path("winners.db"))).code, 0);
  EXPECT_EQ(mmtune(fmt::format("db check --format csv --db '{}'", path("winners.db"))).out,
            "trials,binaries,winners,faults\n2,1,2,0\n");
  EXPECT_EQ(mmtune(fmt::format("db export --winners --format t4 '{}'", path("t4.json"))).code, 2);
}

TEST_F(CliDb, PruneNeedsAYes) {
  const auto counted = mmtune("db prune --failed --format csv");
  EXPECT_EQ(counted.code, 0) << counted.err;
  EXPECT_EQ(counted.out, "trials,set_aside,code\n1,0,0\n");
  EXPECT_THAT(counted.err, HasSubstr("--yes"));
  EXPECT_EQ(trial_count("default.db"), 3);
  EXPECT_EQ(mmtune("db prune --failed --yes --format csv").out, "trials,binaries,winners,set_aside,code\n1,0,0,0,0\n");
  EXPECT_EQ(trial_count("default.db"), 2);
  EXPECT_EQ(mmtune("db prune --predicted --yes --format csv").out,
            "trials,binaries,winners,set_aside,code\n1,0,1,0,0\n");
}

TEST_F(CliDb, TrialsOfVanishedKernelsAreStale) {
  const auto result = mmtune("db prune --stale --dry-run --format csv");
  if (result.code == 3) GTEST_SKIP() << "rendering for a GPU needs NVRTC: " << result.err;
  EXPECT_EQ(result.out, "trials,set_aside,code\n3,0,0\n");
}

TEST_F(CliDb, PruneMakesNoDatabase) {
  for (const auto* yes : {"", "--yes"}) {
    const auto result = mmtune(fmt::format("db prune --stale {} --db '{}'", yes, path("mistyped.db")));
    EXPECT_EQ(result.code, 5);
    EXPECT_THAT(result.err, HasSubstr("mistyped.db: does not exist"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("mistyped.db")));
}

TEST_F(CliDb, AnExportedDatabaseIsWhole) {
  for (const auto* part : {"--size 512", "--family naive", "--device h200", "--precision fp32", "--layout nn"}) {
    const auto result = mmtune(fmt::format("db export {} '{}'", part, path("copy.db")));
    EXPECT_EQ(result.code, 2) << part;
    EXPECT_THAT(result.err, HasSubstr("--format t4")) << part;
  }
  EXPECT_FALSE(std::filesystem::exists(path("copy.db")));
}

}  // namespace
}  // namespace mmtune
