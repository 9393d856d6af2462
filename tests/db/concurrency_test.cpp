// Many processes, processes that die, disks that fill: nothing acknowledged is lost, nothing half-written is seen.
#include <mmtune/error.h>
#include <signal.h>
#include <sys/resource.h>

#include <random>

#include "db/sqlite.h"
#include "tests/db/fixtures.h"

namespace mmtune::testing {
namespace {

constexpr int kWriters = 32;
constexpr int kReaders = 8;
constexpr int kRows = 4;

TEST_F(StoreTest, ManyWritersCreateAndFillOneFile) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const auto wait_at_gate = [&] {
    char nothing = 0;
    close(gate[1]);
    [[maybe_unused]] const auto end = read(gate[0], &nothing, 1);  // all children start when the parent closes it
  };
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    children.push_back(in_child([&] {
      wait_at_gate();
      Store store = open();
      for (int row = 0; row < kRows; ++row) {
        const Binary binary = sample_binary(writer * kRows + row);
        store.put(sample_trial(writer * kRows + row), &binary);
      }
    }));
  }
  for (int reader = 0; reader < kReaders; ++reader) {
    children.push_back(in_child([&] {
      wait_at_gate();
      Store store = open();
      std::size_t seen = 0;
      for (int round = 0; round < 50; ++round) {
        const std::size_t now = store.trials().size();
        if (now < seen) throw DatabaseError("rows vanished");
        seen = now;
      }
    }));
  }
  close(gate[0]);
  close(gate[1]);
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  Store store = open();
  EXPECT_EQ(store.trials().size(), static_cast<std::size_t>(kWriters * kRows));
  EXPECT_TRUE(store.check().faults.empty());
}

TEST_F(StoreTest, AKilledWriterLosesNothingItWasToldIsWritten) {
  std::mt19937 random(3);
  int acknowledged[2];
  for (int round = 0; round < 15; ++round) {
    ASSERT_EQ(pipe(acknowledged), 0);
    const pid_t child = in_child([&] {
      Store store = open();
      for (int row = 0;; ++row) {
        const int number = round * 1000 + row;
        const Binary binary = sample_binary(number);
        store.put(sample_trial(number), &binary);
        if (write(acknowledged[1], &number, sizeof number) != sizeof number) _exit(1);
      }
    });
    close(acknowledged[1]);
    usleep(1000 + random() % 60'000);
    kill(child, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(status_of(child)));

    Store store = open();
    EXPECT_TRUE(store.check().faults.empty());
    for (int number = 0; read(acknowledged[0], &number, sizeof number) == sizeof number;) {
      EXPECT_TRUE(store.find(sample_trial(number).key)) << number;
      EXPECT_TRUE(store.find_binary(sample_binary(number).hash)) << number;
    }
    close(acknowledged[0]);
  }
}

TEST_F(StoreTest, AStoreDoesNotWorkInAForkedChild) {
  Store store = open();
  store.put(sample_trial());
  const pid_t child = in_child([&] {
    EXPECT_THROW(store.find(sample_trial().key), DatabaseError);
    EXPECT_THROW(store.put(sample_trial(1)), DatabaseError);
    const Store destroyed = std::move(store);
  });
  EXPECT_EQ(status_of(child), 0);
  store.put(sample_trial(2));
  EXPECT_EQ(store.trials().size(), 2U);
}

TEST_F(StoreTest, AFileThatCannotGrowKeepsWhatItHas) {
  open().put(sample_trial());
  const pid_t child = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Store store = open();
    Trial large = sample_trial(1);
    large.note.assign(500'000, 'x');
    EXPECT_THROW(store.put(large), DatabaseError);
    EXPECT_THROW(store.export_to(directory_ / "sub" / "copy.db"), DatabaseError);
    EXPECT_TRUE(store.find(sample_trial().key));
    store.put(sample_trial(2));
  });
  EXPECT_EQ(status_of(child), 0);
  Store store = open();
  EXPECT_TRUE(store.check().faults.empty());
  EXPECT_EQ(store.trials().size(), 2U);
}

TEST_F(StoreTest, AFullDatabaseSaysSo) {
  open();
  Database database(path_, Database::Access::read_write);
  EXPECT_GT(database.integer("PRAGMA max_page_count = 30"), 0);
  try {
    database.run("INSERT INTO binary VALUES ('h', 't', 1, 0, 0, 0, 0, 0.0, zeroblob(1000000))");
    ADD_FAILURE() << "did not fail";
  } catch (const DatabaseError& error) {
    EXPECT_NE(std::string(error.what()).find("disk is full; free some space"), std::string::npos) << error.what();
  }
}

TEST_F(StoreTest, TransactionsRollBackUnlessCommitted) {
  open();
  Database database(path_, Database::Access::read_write);
  const auto insert = [&] {
    database.run("INSERT INTO environment (driver, nvrtc, mmtune_commit, device_uuid) VALUES ('', '', '', '')");
  };
  {
    const Transaction transaction(database, Transaction::Kind::write);
    insert();
  }
  EXPECT_EQ(database.integer("SELECT count(*) FROM environment"), 0);
  Transaction transaction(database, Transaction::Kind::write);
  insert();
  EXPECT_THROW(insert(), DatabaseError);
  transaction.commit();
  EXPECT_EQ(database.integer("SELECT count(*) FROM environment"), 1);
}

}  // namespace
}  // namespace mmtune::testing
