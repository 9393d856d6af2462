// What may be opened: identity, version, damage, permissions. Every refusal names file, cause and remedy.
#include "db/open.h"

#include <gmock/gmock.h>
#include <mmtune/error.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <random>

#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class OpenTest : public StoreTest {
 protected:
  void write_file(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void fill(int count = 200) const {
    Store store = open();
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) trials.push_back(sample_trial(i));
    store.put(trials, {});
  }

  /// Expects a refusal in both modes that leaves the file as it was.
  void expect_refused(const std::string& path, const std::string& cause) const {
    const std::string before = bytes_of(path);
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
      try {
        Store::open(path, mode);
        ADD_FAILURE() << "opened: " << cause;
      } catch (const DatabaseError& error) {
        EXPECT_THAT(error.what(), HasSubstr(path));
        EXPECT_THAT(error.what(), HasSubstr(cause));
        EXPECT_THAT(error.what(), HasSubstr("; ")) << "a remedy";
      }
    }
    EXPECT_EQ(bytes_of(path), before);
  }
};

TEST_F(OpenTest, WritesNothingOnceANewerProgramHasBroughtItUpToDate) {
  fill(1);
  Store store = open();
  const int current = current_version(embedded_migrations());
  run_raw(path_, fmt::format("PRAGMA user_version = {}", current + 1));
  const std::string before = bytes_of(path_);
  try {
    store.put({sample_trial(2)}, {});
    ADD_FAILURE() << "its rows may mean something else there";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("to format {} meanwhile", current + 1)));
  }
  EXPECT_EQ(bytes_of(path_), before);
  run_raw(path_, fmt::format("PRAGMA user_version = {}", current));
  store.put({sample_trial(2)}, {});
}

TEST_F(OpenTest, WhatANewerFormatLacksIsNoDamage) {
  fill(1);
  Store store = open();
  run_raw(path_, "ALTER TABLE trial RENAME COLUMN note TO remark");
  const auto fault = [&store] {
    try {
      store.trials();
    } catch (const DatabaseError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(fault(), HasSubstr("restore a copy"));
  run_raw(path_, "PRAGMA user_version = 1000");
  EXPECT_THAT(fault(), HasSubstr("to format 1000 meanwhile"));
}

TEST_F(OpenTest, CreatesPrivateFileInPrivateDirectories) {
  const fs::path nested = directory_ / "a" / "b";
  Store::open(nested / "mmtune.db", OpenMode::read_write);
  struct stat status {};
  ASSERT_EQ(stat((nested / "mmtune.db").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(stat(nested.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(OpenTest, PermissionsDoNotDependOnTheMask) {
  const pid_t child = in_child([&] {
    umask(0);
    const fs::path place = directory_ / "a" / "mmtune.db";
    Store store = Store::open(place, OpenMode::read_write);
    store.put(sample_trial());
    store.export_to(directory_ / "copy.db");
    EXPECT_EQ(fs::status(directory_ / "a").permissions(), fs::perms::owner_all);
    for (const auto& file : {place, directory_ / "copy.db"}) {
      EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write) << file;
    }
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST_F(OpenTest, ReadOnlyCreatesNothing) {
  EXPECT_THROW(open(OpenMode::read_only), DatabaseError);
  EXPECT_THROW(Store::open(directory_ / "none" / "x.db", OpenMode::read_only), DatabaseError);
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(OpenTest, AnEmptyFileIsADatabaseToBe) {
  write_file("");
  EXPECT_THROW(open(OpenMode::read_only), DatabaseError);
  open().put(sample_trial());
  EXPECT_TRUE(open(OpenMode::read_only).find(sample_trial().key));
}

TEST_F(OpenTest, RefusesWhatIsNoDatabase) {
  write_file(std::string(5000, 'x'));
  expect_refused(path_, "not an SQLite database");
  EXPECT_THROW(Store::open(directory_, OpenMode::read_write), DatabaseError);
  EXPECT_THROW(Store::open("", OpenMode::read_write), DatabaseError);
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(Store::open(pipe, OpenMode::read_only), DatabaseError);
}

// SQLite takes them for empty databases, and would write over them.
TEST_F(OpenTest, FileShorterThanAPageIsLeftAsItIs) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{24}, std::size_t{25}, std::size_t{511}}) {
    write_file(std::string(bytes, 'x'));
    expect_refused(path_, "no SQLite database");
  }
}

TEST_F(OpenTest, RefusesOtherApplicationsFiles) {
  run_raw(path_, "CREATE TABLE notes (text TEXT)");
  expect_refused(path_, "another application");
  fs::remove(path_);
  open();
  run_raw(path_, "PRAGMA application_id = 42");
  expect_refused(path_, "another application");
}

TEST_F(OpenTest, RefusesNewerVersions) {
  open();
  run_raw(path_, "PRAGMA user_version = 999");
  expect_refused(path_, "newer mmtune");
}

TEST_F(OpenTest, RefusesViewsTriggersAndStrangeTables) {
  for (const char* sql : {"CREATE VIEW v AS SELECT 1", "CREATE TABLE extra (a)",
                          "CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM winner; END",
                          "CREATE VIRTUAL TABLE f USING fts5(text)"}) {
    fs::remove(path_);
    open();
    run_raw(path_, sql);
    expect_refused(path_, "which no mmtune writes");
  }
  fs::remove(path_);
  open();
  run_raw(path_, "DROP TABLE winner");
  expect_refused(path_, "missing");
}

TEST_F(OpenTest, RefusesATableOrAnIndexThatIsNotThatOfTheFormat) {
  const auto edited = [](const char* from, const char* to) {
    return fmt::format("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '{}', '{}')", from,
                       to);
  };
  for (const std::string& sql :
       {std::string("DROP TABLE winner; CREATE TABLE winner (a)"), std::string("ALTER TABLE trial DROP COLUMN q1_us"),
        std::string("ALTER TABLE trial RENAME COLUMN q1_us TO q2_us"),
        std::string("ALTER TABLE trial ADD COLUMN more TEXT"),
        std::string("ALTER TABLE trial ADD COLUMN more TEXT AS (hex(zeroblob(1000000)))"),
        edited("occupancy        REAL NOT NULL", "occupancy REAL NOT NULL CHECK (length(hex(zeroblob(1e9))))"),
        edited("note             TEXT NOT NULL", "note TEXT COLLATE NOCASE NOT NULL"),
        edited("median_us        REAL", "median_us        TEXT"), edited("STRICT", ""),
        std::string("DROP INDEX trial_by_kernel; CREATE INDEX trial_by_kernel ON trial (hex(note))")}) {
    fs::remove(path_);
    open();
    run_raw(path_, sql);
    expect_refused(path_, "is not that of this format");
  }
}

TEST_F(OpenTest, AGeneratedColumnOfAForeignFileIsNotComputed) {
  open().put({sample_trial(0), sample_trial(1), sample_trial(2)}, {});
  run_raw(path_,
          "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'note             TEXT NOT NULL',"
          " 'note TEXT AS (hex(zeroblob(100000000)))') WHERE name = 'trial'");
  Store clean = Store::open(directory_ / "clean.db", OpenMode::read_write);
  try {
    clean.merge_from({path_});
    ADD_FAILURE() << "merged";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), HasSubstr("table trial is not that of this format"));
  }
}

TEST_F(OpenTest, StatisticsOfSqliteAreNoFault) {
  open().put(sample_trial());
  run_raw(path_, "ANALYZE");
  EXPECT_TRUE(open(OpenMode::read_only).find(sample_trial().key));
}

TEST_F(OpenTest, TruncationIsFoundOrHarmless) {
  fill();
  const auto size = fs::file_size(path_);
  for (std::uintmax_t keep = size - 1; keep > 0; keep = keep * 3 / 4) {
    fs::resize_file(path_, keep);
    try {
      EXPECT_FALSE(open(OpenMode::read_only).check().faults.empty()) << keep << " bytes of " << size;
    } catch (const DatabaseError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path_));
    }
  }
}

TEST_F(OpenTest, OverwrittenPagesNeverCrashOrHang) {
  fill();
  const std::string sound = bytes_of(path_);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string damaged = sound;
    for (int page = 0; page < 8; ++page) {
      const std::size_t start = 4096 + random() % (damaged.size() - 8192);
      for (std::size_t i = 0; i < 512; ++i) damaged[start + i] = static_cast<char>(random());
    }
    write_file(damaged);
    try {
      Store store = open();
      EXPECT_FALSE(store.check().faults.empty());
      EXPECT_LE(store.trials().size(), 200U);
      store.winners();
      store.put(sample_trial(1000));
    } catch (const DatabaseError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path_));
    }
  }
}

TEST_F(OpenTest, RefusesSymbolicLinksToTheFileButNotAboveIt) {
  open().put(sample_trial());
  const std::string link = directory_ / "link.db";
  fs::create_symlink(path_, link);
  expect_refused(link, "symbolic link");
  fs::create_directory_symlink(directory_, directory_ / "linked");
  EXPECT_TRUE(Store::open(directory_ / "linked" / "mmtune.db", OpenMode::read_only).find(sample_trial().key));
}

TEST_F(OpenTest, RefusesPlacesThatOthersCanWriteTo) {
  open();
  fs::permissions(path_, fs::perms::others_write, fs::perm_options::add);
  expect_refused(path_, "written by all users");
  fs::permissions(path_, fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(directory_, fs::perms::all);
  expect_refused(path_, "written by all users");
  fs::permissions(directory_, fs::perms::all | fs::perms::sticky_bit);
  EXPECT_NO_THROW(open());
}

TEST_F(OpenTest, RefusesPlacesAndJournalsOfOthers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  open();
  write_file(bytes_of(path_));
  std::ofstream(path_ + "-journal") << "planted";
  ASSERT_EQ(chown((path_ + "-journal").c_str(), 4242, 4242), 0);
  EXPECT_THROW(open(), DatabaseError);
  fs::remove(path_ + "-journal");
  ASSERT_EQ(chown(directory_.c_str(), 4242, 4242), 0);
  expect_refused(path_, "belongs to another user");
}

TEST_F(OpenTest, TakesFilesOfRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  open().put(sample_trial());
  fs::permissions(path_, fs::perms::others_read, fs::perm_options::add);
  fs::permissions(directory_, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
  const pid_t child = in_child([&] {
    become_ordinary_user();
    EXPECT_TRUE(open(OpenMode::read_only).find(sample_trial().key));
  });
  EXPECT_EQ(status_of(child), 0) << "as a system's administrator installs them";
}

TEST_F(OpenTest, ReadsFromReadOnlyDirectories) {
  open().put(sample_trial());
  hand_over(path_);
  hand_over(directory_);
  fs::permissions(path_, fs::perms::owner_read);
  fs::permissions(directory_, fs::perms::owner_read | fs::perms::owner_exec);
  const pid_t child = in_child([&] {
    become_ordinary_user();
    EXPECT_TRUE(open(OpenMode::read_only).find(sample_trial().key));
    EXPECT_THROW(open(), DatabaseError);
    EXPECT_THROW(Store::open(directory_ / "new.db", OpenMode::read_write), DatabaseError);
  });
  EXPECT_EQ(status_of(child), 0);
  fs::permissions(directory_, fs::perms::owner_all);
}

TEST_F(OpenTest, BringsAnOlderVersionUpStepByStep) {
  open().put(sample_trial());
  const int version = current_version(embedded_migrations());
  const std::vector<Migration> steps{{version + 1, "ALTER TABLE trial ADD COLUMN energy_mj REAL NOT NULL DEFAULT 0"},
                                     {version + 2, "UPDATE trial SET energy_mj = 7"}};
  {
    Database database(path_, OpenMode::read_write);
    bring_up_to_date(database, embedded_schema(), steps);
    EXPECT_EQ(database.integer("PRAGMA user_version"), version + 2);
    EXPECT_EQ(database.integer("SELECT CAST(energy_mj AS INTEGER) FROM trial"), 7);
    bring_up_to_date(database, embedded_schema(), steps);
    EXPECT_THROW(bring_up_to_date(database, embedded_schema(), {}), DatabaseError);
  }
  expect_refused(path_, "newer mmtune");
}

TEST_F(OpenTest, AFailingStepChangesNothing) {
  open().put(sample_trial());
  {
    Database database(path_, OpenMode::read_write);
    const int version = current_version(embedded_migrations());
    const std::vector<Migration> steps{{version + 1, "DELETE FROM trial; SELECT no_such_function()"}};
    EXPECT_THROW(bring_up_to_date(database, embedded_schema(), steps), DatabaseError);
    EXPECT_EQ(database.integer("PRAGMA user_version"), version);
  }
  EXPECT_TRUE(open().find(sample_trial().key));
}

TEST_F(OpenTest, StepsAreConsecutiveAndLeadToTheSchema) {
  int version = 1;
  for (const Migration& step : embedded_migrations()) EXPECT_EQ(step.version, ++version);
  EXPECT_EQ(current_version(embedded_migrations()), version);
  EXPECT_THAT(std::string(embedded_schema()), HasSubstr(fmt::format("format, version {}.", version)));
  EXPECT_THAT(std::string(embedded_schema()), HasSubstr(fmt::format("{:#x}", kApplicationId)));
}

}  // namespace
}  // namespace mmtune::test
