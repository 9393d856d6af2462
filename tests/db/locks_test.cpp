// Locks of others: how long they are waited for, and that a stopped process holds none.
#include <gmock/gmock.h>
#include <mmtune/error.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "db/sqlite.h"
#include "db/write_gate.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// A connection that keeps all others out.
class Locked {
 public:
  explicit Locked(const std::string& path) : database_(path, OpenMode::read_write) {
    database_.exec("BEGIN EXCLUSIVE");
  }

 private:
  Database database_;
};

TEST_F(StoreTest, ALockIsWaitedForNoLongerThanTheBudgetInAll) {
  open().put(sample_trial());
  LockBudget budget{milliseconds(50)};
  {
    const Locked locked(path_);
    EXPECT_THROW(Store::open(path_, OpenMode::read_only, &budget), DatabaseLockedError);
    EXPECT_LE(budget.left(), microseconds(0));
    EXPECT_GT(budget.left(), milliseconds(-5000)) << "it waited for about what it might";
    const microseconds left = budget.left();
    EXPECT_THROW(Store::open(path_, OpenMode::read_only, &budget), DatabaseLockedError);
    EXPECT_EQ(budget.left(), left) << "and then no more";
  }
  EXPECT_TRUE(Store::open(path_, OpenMode::read_only, &budget).find(sample_trial().key))
      << "what is free needs no wait";
}

TEST_F(StoreTest, ALockThatIsGivenUpWithinTheBudgetIsNoFault) {
  open().put(sample_trial());
  LockBudget budget{std::chrono::minutes(10)};
  auto locked = std::make_unique<Locked>(path_);
  std::jthread owner([&] {
    std::this_thread::sleep_for(milliseconds(30));
    locked.reset();
  });
  EXPECT_TRUE(Store::open(path_, OpenMode::read_only, &budget).find(sample_trial().key));
}

TEST_F(StoreTest, AProcessThatHasJustGoneOnStopsAgain) {
  const pid_t writer = in_child([] {
    stop_between_writes();
    while (true) const WriteGate gate;
  });
  std::this_thread::sleep_for(microseconds(50'000));
  for (int round = 0; round < 100; ++round) {
    kill(writer, SIGTSTP);
    int status = 0;
    pid_t stopped = 0;
    for (int tries = 0; stopped == 0 && tries < 10'000; ++tries) {
      std::this_thread::sleep_for(microseconds(1000));
      stopped = waitpid(writer, &status, WUNTRACED | WNOHANG);
    }
    EXPECT_EQ(stopped, writer) << round;
    if (stopped != writer) break;
    EXPECT_TRUE(WIFSTOPPED(status)) << status;
    kill(writer, SIGCONT);
  }
  kill(writer, SIGKILL);
  status_of(writer);
}

TEST_F(StoreTest, AProcessThatIsStoppedKeepsNothingLocked) {
  open();
  const pid_t writer = in_child([&] {
    stop_between_writes();
    Store store = open();
    std::jthread second([&] {
      Store other = open();
      for (int number = 1; number < 1'000'000; number += 2) other.put(sample_trial(number));
    });
    for (int number = 0; number < 1'000'000; number += 2) store.put(sample_trial(number));
  });
  for (int round = 0; round < 40; ++round) {
    std::this_thread::sleep_for(microseconds(20'000 + 700 * round));
    kill(writer, SIGTSTP);
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, WUNTRACED), writer);
    ASSERT_TRUE(WIFSTOPPED(status)) << status;
    LockBudget none{microseconds(0)};
    EXPECT_NO_THROW(Store::open(path_, OpenMode::read_only, &none).trials()) << round;
    kill(writer, SIGCONT);
  }
  kill(writer, SIGKILL);
  status_of(writer);
}

}  // namespace
}  // namespace mmtune::test
