// A database with pages overwritten or cut off: a command that needs what is gone refuses, and no answer is wrong.
#include <random>

#include "tests/tuner/database_faults.h"

namespace mmtune {
namespace {

/// The file with bytes replaced by random ones.
class DamagedFile : public DatabaseFaults {
 protected:
  static constexpr std::size_t kPage = 2048;   // the size that db/sqlite.cpp sets
  static constexpr std::size_t kHeader = 100;  ///< bytes of page 1
  static constexpr std::string_view kDevice = "device";
  static constexpr std::string_view kEnvironment = "environment";
  static constexpr std::string_view kTablesOfDecisions[] = {"winner", "trial",      "problem",
                                                            kDevice,  kEnvironment, "binary"};

  DamagedFile() : sound_(bytes_of(file())) {}

  void damage(std::size_t first, std::size_t count) {
    std::string bytes = sound_;
    for (std::size_t i = first; i < first + count; ++i) bytes[i] = static_cast<char>(random_());
    write_bytes(file(), bytes);
  }

  void cut(std::size_t size) const { write_bytes(file(), sound_.substr(0, size)); }

  /// Numbered from 0.
  std::size_t page_of(std::string_view table) const {
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(file().c_str(), &handle), SQLITE_OK);
    sqlite3_stmt* root = nullptr;
    const std::string sql = fmt::format("SELECT rootpage FROM sqlite_schema WHERE name = '{}'", table);
    EXPECT_EQ(sqlite3_prepare_v2(handle, sql.c_str(), -1, &root, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(root), SQLITE_ROW);
    const int number = sqlite3_column_int(root, 0);
    sqlite3_finalize(root);
    sqlite3_close(handle);
    return static_cast<std::size_t>(number) - 1;
  }

  std::string sound_;
  std::mt19937 random_{5};
};

TEST_F(DamagedFile, Header) {
  damage(0, kHeader);
  expect_unusable("not an SQLite database");
}

TEST_F(DamagedFile, TheRestOfPageOne) {
  damage(kHeader, kPage - kHeader);
  expect_unusable("damaged");
}

TEST_F(DamagedFile, EveryPageButTheFirst) {
  damage(kPage, sound_.size() - kPage);
  expect_unusable("damaged");
}

TEST_F(DamagedFile, CutShort) {
  const std::size_t pages = sound_.size() / kPage;
  for (const std::size_t size : {(pages - 1) * kPage, pages / 2 * kPage, kPage, kPage - 1, kHeader, kHeader - 1}) {
    cut(size);
    expect_unusable("damaged");
  }
}

TEST_F(DamagedFile, TablesThatDecisionsAreReadFrom) {
  for (const std::string_view table : kTablesOfDecisions) {
    SCOPED_TRACE(table);
    damage(page_of(table) * kPage, kPage);
    EXPECT_EQ(on_file("db check").code, 5);
    expect_refused("show", "damaged");
    if (table == kDevice || table == kEnvironment) {
      expect_decision(served());  // the index says all that a library asks of its GPU, and it asks for no environment
    } else {
      expect_fallback(served(), "damaged");
    }
    write_bytes(file(), sound_);
  }
}

TEST_F(DamagedFile, TablesThatTuningNeeds) {
  for (const std::string_view table : kTablesOfDecisions) {
    damage(page_of(table) * kPage, kPage);
    const Result tune = on_file(kTune);
    if (tune.code == 3) GTEST_SKIP() << tune.err;
    EXPECT_EQ(tune.code, 5) << table << ": " << tune.err;
    EXPECT_THAT(tune.err, ::testing::HasSubstr(": damaged; ")) << table;
    write_bytes(file(), sound_);
  }
}

TEST_F(DamagedFile, ATableThatNoDecisionIsReadFrom) {
  damage(page_of("attempt") * kPage, kPage);
  EXPECT_EQ(on_file("db check").code, 5);
  EXPECT_EQ(on_file("show").code, 0);
  expect_decision(served());
}

TEST_F(DamagedFile, WhicheverPageCheckFindsItAndNobodyIsAnsweredWrongly) {
  const std::string shown = on_file("show").out;
  for (std::size_t page = 0; page < sound_.size() / kPage; ++page) {
    SCOPED_TRACE(page);
    damage(page * kPage, kPage);
    const std::string damaged = bytes_of(file());
    EXPECT_EQ(on_file("db check").code, 5);
    const Result show = on_file("show");
    EXPECT_TRUE(show.code == 5 || (show.code == 0 && show.out == shown)) << show.code << ' ' << show.out;
    if (const Served now = served(); now.answer.match == Match::exact) {
      expect_decision(now);
    } else {
      expect_fallback(now, file());
    }
    EXPECT_TRUE(bytes_of(file()) == damaged) << "reading changed the file";
  }
}

}  // namespace
}  // namespace mmtune
