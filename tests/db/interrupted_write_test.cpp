// A writer killed in the middle of a transaction leaves pages of it in the file and the old ones in a journal.
#include <mmtune/error.h>

#include <filesystem>

#include "tests/db/fixtures.h"

namespace mmtune {
namespace {

namespace fs = std::filesystem;

using test::sample_trial;

class InterruptedWrite : public test::StoreTest {
 protected:
  /// A database with one trial in it, and half of a transaction that deletes it.
  void SetUp() override {
    const std::string original = directory_ / "original.db";
    Store::open(original, OpenMode::read_write).put(sample_trial());
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(original.c_str(), &handle), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(handle, "BEGIN; DELETE FROM trial", nullptr, nullptr, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_db_cacheflush(handle), SQLITE_OK);
    fs::copy_file(original, path_);
    fs::copy_file(original + "-journal", path_ + "-journal");
    sqlite3_close(handle);
  }
};

TEST_F(InterruptedWrite, IsUndoneForAReader) {
  Store store = open(OpenMode::read_only);
  EXPECT_TRUE(store.find(sample_trial().key));
  EXPECT_TRUE(store.check().faults.empty());
  EXPECT_FALSE(fs::exists(path_ + "-journal"));
}

TEST_F(InterruptedWrite, IsUndoneForAWriter) { EXPECT_TRUE(open().find(sample_trial().key)); }

TEST_F(InterruptedWrite, CannotBeUndoneInAFileThatCannotBeWritten) {
  fs::permissions(path_, fs::perms::owner_read);
  for (const std::string& file : {path_, path_ + "-journal", directory_.string()}) test::hand_over(file);
  const pid_t child = test::in_child([&] {
    test::become_ordinary_user();
    EXPECT_THROW(open(OpenMode::read_only), DatabaseError);
  });
  EXPECT_EQ(test::status_of(child), 0);
}

TEST_F(InterruptedWrite, ALiveWritersJournalIsLeftAlone) {
  const std::string original = directory_ / "live.db";
  Store::open(original, OpenMode::read_write).put(sample_trial());
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(original.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "BEGIN IMMEDIATE; DELETE FROM trial", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE(Store::open(original, OpenMode::read_only).find(sample_trial().key));
  ASSERT_EQ(sqlite3_exec(handle, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  EXPECT_FALSE(Store::open(original, OpenMode::read_only).find(sample_trial().key));
}

}  // namespace
}  // namespace mmtune
