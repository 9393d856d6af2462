// Many processes, processes that die, disks that fill: nothing acknowledged is lost, nothing half-written is seen.
#include <mmtune/error.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

#include "db/sqlite.h"
#include "templates/base/config.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

constexpr int kWriters = 32;
constexpr int kReaders = 8;
constexpr int kRows = 8;

/// What parent and children tell each other.
struct Signals {
  std::atomic<int> readers_waiting{0};  ///< the readers that looked for the file and found none
  std::atomic<bool> start{false};       ///< writing
  std::atomic<bool> written{false};     ///< all of it
};

class SharedSignals {
 public:
  SharedSignals() : memory_(mmap(nullptr, sizeof(Signals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("no shared memory");
    new (memory_) Signals;
  }
  ~SharedSignals() { munmap(memory_, sizeof(Signals)); }
  SharedSignals(const SharedSignals&) = delete;
  SharedSignals& operator=(const SharedSignals&) = delete;

  Signals* operator->() const { return static_cast<Signals*>(memory_); }

 private:
  void* memory_;
};

void wait_for(const std::function<bool()>& condition) {
  while (!condition()) usleep(200);
}

/// Opens for reading as soon as there is something to read. Until then nothing but its absence may be complained of.
Store open_once_made(const std::string& path, const std::function<void()>& is_absent) {
  while (true) {
    try {
      return Store::open(path, OpenMode::read_only);
    } catch (const DatabaseError& error) {
      const std::string_view what = error.what();
      if (what.find(": does not exist; ") == what.npos && what.find(": empty; ") == what.npos) throw;
      is_absent();
    }
  }
}

/// The number of rows, of each writer its first ones: what is committed later is not seen earlier.
int rows_in_order(Store& store) {
  std::array<std::set<int>, kWriters> rows;
  for (const Trial& trial : store.trials()) {
    const int number = static_cast<int>(Config::parse(trial.key.config).settings().back().value) - 1;
    rows.at(static_cast<std::size_t>(number / kRows)).insert(number % kRows);
  }
  int count = 0;
  for (const std::set<int>& each : rows) {
    if (!each.empty() && *each.rbegin() + 1 != static_cast<int>(each.size())) throw DatabaseError("a row is missing");
    count += static_cast<int>(each.size());
  }
  return count;
}

TEST_F(StoreTest, ManyWritersCreateAndFillOneFileWhileOthersRead) {
  const SharedSignals signals;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    children.push_back(in_child([&] {
      wait_for([&] { return signals->start.load(); });
      Store store = open();
      for (int number = writer * kRows; number < (writer + 1) * kRows; ++number) {
        const Binary binary = sample_binary(number);
        store.put(sample_trial(number), &binary);
      }
    }));
  }
  std::vector<pid_t> readers;
  for (int reader = 0; reader < kReaders; ++reader) {
    readers.push_back(in_child([&] {
      bool waits = false;
      Store store = open_once_made(path_, [&] {
        if (!std::exchange(waits, true)) ++signals->readers_waiting;
      });
      for (int seen = 0; !signals->written;) {
        const int now = rows_in_order(store);
        if (now < seen) throw DatabaseError("rows vanished");
        seen = now;
      }
      EXPECT_EQ(rows_in_order(store), kWriters * kRows);
    }));
  }
  wait_for([&] { return signals->readers_waiting == kReaders; });
  signals->start = true;
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  signals->written = true;
  for (const pid_t reader : readers) EXPECT_EQ(status_of(reader), 0);
  Store store = open();
  EXPECT_EQ(rows_in_order(store), kWriters * kRows);
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
  Database database(path_, OpenMode::read_write);
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
  Database database(path_, OpenMode::read_write);
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
}  // namespace mmtune::test
