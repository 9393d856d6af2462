// A database of the first version is brought up to date with everything in it.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <set>

#include "db/open.h"
#include "test_paths.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

/// One trial with its program, of hash {0}, and decision, as version 1 wrote them.
constexpr const char* kOldRows = R"(
INSERT INTO device VALUES (1, 'NVIDIA H200', 90, 132, 232448);
INSERT INTO problem VALUES (1, 3, 2, 100, 200, 300, 16, 8, 4);
INSERT INTO environment VALUES (1, '580.1', '13.0', 'abcdef1', 'GPU-1234');
INSERT INTO binary VALUES ('{0}', 'sm_90a', 0, 128, 16, 32, 1024, 812.5, x'7f454c46');
INSERT INTO compiled VALUES ('0123456789abcdef0123456789abcdef', 'sm_90a', '{0}');
INSERT INTO compiled VALUES ('fedcba98', 'sm_90a', '{0}');
INSERT INTO trial VALUES (1, 1, 1, 0, 'simt', 'BM=128 BN=1', '0123456789abcdef0123456789abcdef', 0, 'note',
  '{0}', 10.5, 10.25, 11.75, 10.125, 31, 7, 'graph', 1980.5, 0.25, 0, 0.5, 49152, 1,
  '2021-04-05T06:07:08Z');
INSERT INTO winner VALUES (1, 1, 0, 'simt', 'BM=128 BN=1', '0123456789abcdef0123456789abcdef', 10.5, 'search', 5,
  '2021-04-05T06:07:08Z');
PRAGMA application_id = 0x6d6d7475;
PRAGMA user_version = 1;
)";

class MigrationTest : public StoreTest {
 protected:
  MigrationTest() {
    std::ifstream file(MMTUNE_SOURCE_DIR "/tests/db/version_1.sql");
    const std::string schema{std::istreambuf_iterator<char>(file), {}};
    run_raw(path_, schema + fmt::format(kOldRows, hash_machine_code("\x7f\x45LF")));
    std::filesystem::permissions(path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  /// "trial: sm_clock_mhz REAL notnull=1 default=": every column, whatever their order.
  static std::multiset<std::string> columns(const std::string& path) {
    Database database(path, OpenMode::read_only);
    Rows rows = database.query(
        "SELECT m.name || ': ' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk"
        " FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'");
    std::multiset<std::string> found;
    while (rows.next()) found.emplace(rows.text(0).value_or(""));
    return found;
  }
};

TEST_F(MigrationTest, LeadsToTheSchema) {
  const std::string fresh = directory_ / "fresh.db";
  Store::open(fresh, OpenMode::read_write);
  open();
  EXPECT_EQ(columns(path_), columns(fresh));
}

TEST_F(MigrationTest, KeepsTheRows) {
  Store store = open();
  EXPECT_THAT(store.check().faults, ::testing::IsEmpty());
  Trial expected = sample_trial();
  expected.binary_hash = hash_machine_code("\x7f\x45LF");
  expected.note = "note";
  expected.timing.conditions.memory_clock_mhz = expected.timing.conditions.power_limit_w = 0;
  expected.timing.throttle = expected.timing.disturbed = expected.timing.conditions.clock_limit_mhz = 0;
  expected.timing.conditions.co_tenants = -1;
  expected.timing.sm_clock_mhz = 1981;  // The clock is rounded.
  const auto trials = store.trials();
  ASSERT_EQ(trials.size(), 1U);
  expect_equal(trials[0], expected);
  ASSERT_EQ(store.winners().size(), 1U);
  EXPECT_EQ(store.winners()[0].search, "search");
}

TEST_F(MigrationTest, FindsTheCompilerWhereATrialNamesIt) {
  Store store = open();
  EXPECT_EQ(store.find_compiled("0123456789abcdef0123456789abcdef", "sm_90a")->nvrtc, "13.0");
  EXPECT_EQ(store.find_compiled("fedcba98", "sm_90a")->nvrtc, "");
}

}  // namespace
}  // namespace mmtune::test
