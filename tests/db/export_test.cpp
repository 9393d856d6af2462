// Exporting: the copy is there wholly or not at all, whatever ends the process, and what fails is named.
#include <gmock/gmock.h>
#include <mmtune/error.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/db/faulty_vfs.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ExportTest : public StoreTest {
 protected:
  ExportTest() {
    fs::create_directory(folder_);
    Store store = open();
    std::vector<Trial> trials;
    for (int i = 0; i < 3000; ++i) trials.push_back(sample_trial(i));
    store.put(trials, {});
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const fs::path folder_ = directory_ / "copies";
  const fs::path copy_ = folder_ / "copy.db";
};

TEST_F(ExportTest, AKilledExportIsNotInTheWayOfTheNext) {
  int cut_short = 0;
  for (int delay_us = 0; delay_us < 60'000; delay_us += 1500) {
    const pid_t child = in_child([&] { open(OpenMode::read_only).export_to(copy_); });
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
    kill(child, SIGKILL);
    status_of(child);
    if (fs::exists(copy_)) {
      EXPECT_EQ(Store::open(copy_, OpenMode::read_only).trials().size(), 3000U) << "a copy that has its name is whole";
      fs::remove(copy_);
    } else {
      ++cut_short;
    }
    EXPECT_NO_THROW(open(OpenMode::read_only).export_to(copy_)) << delay_us;
    fs::remove(copy_);
  }
  EXPECT_GT(cut_short, 0);
}

TEST_F(ExportTest, AnInterruptedExportLeavesAWholeCopyOrNothing) {
  int interrupted = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = in_child([&] { open(OpenMode::read_only).export_to(copy_); });
    while (files() == 0 && waitpid(child, nullptr, WNOHANG) == 0) {
    }
    kill(child, SIGINT);
    const int status = status_of(child);
    interrupted += WIFSIGNALED(status) ? 1 : 0;
    EXPECT_EQ(files(), fs::exists(copy_) ? 1U : 0U) << "nothing but the copy";
    fs::remove(copy_);
  }
  EXPECT_GT(interrupted, 0);
}

TEST_F(ExportTest, AFullDiskIsThatOfTheCopyAndLeavesNothing) {
  FaultyVfs vfs;
  for (const auto fault : {FaultyVfs::Fault::disk_full, FaultyVfs::Fault::io_error}) {
    int faults = 0;
    for (int operation = 1; operation < 2000; operation = operation * 3 / 2 + 1) {
      Store store = open(OpenMode::read_only);
      vfs.fail_at(operation, fault);
      try {
        store.export_to(copy_);
      } catch (const DatabaseError& error) {
        ++faults;
        EXPECT_THAT(error.what(), HasSubstr(copy_.string()));
        EXPECT_THAT(error.what(), Not(HasSubstr(path_ + ":")));
        EXPECT_EQ(files(), 0U);
      }
      vfs.heal();
      fs::remove(copy_);
    }
    EXPECT_GT(faults, 3);
  }
}

TEST_F(ExportTest, NothingIsReplaced) {
  std::ofstream(copy_) << "mine";
  EXPECT_THROW(open().export_to(copy_), DatabaseError);
  fs::remove(copy_);
  fs::create_symlink("nowhere", copy_);
  EXPECT_THROW(open().export_to(copy_), DatabaseError);
  EXPECT_EQ(files(), 1U);
}

TEST_F(ExportTest, WinnersAloneAreWhatAnApplicationNeeds) {
  const auto source = [](int number) { return fmt::format("{:032x}", number); };
  Store store = open();
  Trial winner;
  for (int i = 0; i < 3; ++i) {
    winner = sample_trial(i);
    winner.key.source_hash = source(i);
    const Binary binary = sample_binary(i);
    store.put(winner, &binary);
  }
  store.put_winner(winner.key, "searched", 3);
  store.put_compiled(source(98), sample_binary(98));
  store.put_compiled(source(99), sample_binary(99));
  store.export_winners(copy_, {source(99)});
  EXPECT_EQ(files(), 1U);
  EXPECT_LT(fs::file_size(copy_), fs::file_size(path_) / 4);

  Store copy = Store::open(copy_, OpenMode::read_only);
  const CheckReport report = copy.check();
  EXPECT_TRUE(report.faults.empty());
  EXPECT_EQ(report.trials, 1);
  EXPECT_EQ(report.winners, 1);
  EXPECT_EQ(report.binaries, 2);
  const ServedDecisions served = copy.served(winner.key.device);
  ASSERT_EQ(served.kernels.size(), 1U);
  EXPECT_EQ(served.kernels[0].config, winner.key.config);
  EXPECT_TRUE(copy.find_binary(served.kernels[0].binary.hash));
  EXPECT_TRUE(copy.find_compiled(source(99), "sm_90a"));
  EXPECT_EQ(run_raw(copy_, "SELECT count(*) FROM compiled"), "2|\n");
  EXPECT_EQ(store.trials().size(), 3003U) << "what was exported stays as it was";
}

}  // namespace
}  // namespace mmtune::test
