// Every single write, sync or deletion fails once: on a full disk, with an error, and for good when the power is cut.
// What was acknowledged is there afterwards, what was not is there wholly or not at all, and work can go on.
#include <mmtune/error.h>

#include "tests/db/faulty_vfs.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

namespace fs = std::filesystem;
using Fault = FaultyVfs::Fault;

class FaultInjection : public StoreTest, public ::testing::WithParamInterface<Fault> {
 protected:
  static constexpr int kMostOperations = 500;

  /// A trial and its binary, or neither.
  static bool holds(Store& store, int number) {
    const bool trial = store.find(sample_trial(number).key).has_value();
    const bool binary = store.find_binary(sample_binary(number).hash).has_value();
    EXPECT_EQ(trial, binary) << number;
    return trial;
  }

  static void put(Store& store, int number) {
    const Binary binary = sample_binary(number);
    store.put(sample_trial(number), &binary);
  }

  /// False if it was refused.
  template <class Work>
  bool succeeds(const Work& work) {
    try {
      work();
      return true;
    } catch (const DatabaseError& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("; "), std::string::npos) << error.what();
      return false;
    }
  }

  void restart() {
    if (GetParam() == Fault::power_cut) vfs_.cut_power(random_);
    vfs_.heal();
  }

  FaultyVfs vfs_;
  std::mt19937 random_{11};
};

TEST_P(FaultInjection, APutIsDoneOrNotDone) {
  const std::string original = directory_ / "original.db";
  {
    Store store = Store::open(original, OpenMode::read_write);
    put(store, 0);
  }
  int faults = 0;
  for (int operation = 1; operation < kMostOperations; ++operation) {
    fs::remove(path_ + "-journal");
    fs::copy_file(original, path_, fs::copy_options::overwrite_existing);
    bool written = false;
    {
      Store store = open();
      vfs_.fail_at(operation, GetParam());
      written = succeeds([&] { put(store, 1); });
      if (vfs_.failed() && GetParam() != Fault::power_cut) {
        vfs_.heal();
        EXPECT_TRUE(holds(store, 0)) << operation;
        EXPECT_TRUE(succeeds([&] { put(store, 2); })) << "the same connection goes on, " << operation;
      }
      faults += vfs_.failed() || !written ? 1 : 0;
      if (!vfs_.failed() && written) break;
    }
    restart();
    Store store = open();
    EXPECT_TRUE(store.check().faults.empty()) << operation;
    EXPECT_TRUE(holds(store, 0)) << operation;
    EXPECT_TRUE(holds(store, 1) || !written) << operation;
    put(store, 3);
  }
  EXPECT_GT(faults, 8) << "a transaction has more writes and syncs than that";
  EXPECT_LT(faults, kMostOperations - 1);
}

TEST_P(FaultInjection, ACreationIsDoneOrCanBeRepeated) {
  int faults = 0;
  for (int operation = 1; operation < kMostOperations; ++operation) {
    fs::remove(path_);
    fs::remove(path_ + "-journal");
    vfs_.fail_at(operation, GetParam());
    const bool created = succeeds([&] { open(); });
    const bool failed = vfs_.failed();
    restart();
    if (created && !failed) break;
    ++faults;
    Store store = open();
    EXPECT_TRUE(store.check().faults.empty()) << operation;
    put(store, 0);
  }
  EXPECT_GT(faults, 8);
  EXPECT_LT(faults, kMostOperations - 1);
}

std::string name_of(const ::testing::TestParamInfo<Fault>& info) {
  constexpr const char* kNames[] = {"DiskFull", "IoError", "PowerCut"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Every, FaultInjection, ::testing::Values(Fault::disk_full, Fault::io_error, Fault::power_cut),
                         name_of);

}  // namespace
}  // namespace mmtune::test
