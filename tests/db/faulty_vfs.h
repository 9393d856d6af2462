// A file system under SQLite that fails on demand: at the n-th write, truncation, sync or deletion.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace mmtune::test {

/// Lies between SQLite and its default file system as long as it lives. One thread, one at a time, and no database may
/// be open when it begins or ends.
class FaultyVfs {
 public:
  enum class Fault {
    disk_full,  ///< the operation fails, having written half, and says that the disk is full; others go on
    io_error,   ///< the same with an input/output error
    power_cut,  ///< the operation and all after it fail; cut_power() then loses what was not synced
  };

  FaultyVfs();
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  /// Lets the n-th operation from now fail, counted from 1.
  void fail_at(int operation, Fault fault);

  /// Lets nothing fail any more.
  void heal() { fail_at_ = 0; }

  /// Whether the operation of fail_at has come.
  bool failed() const { return fail_at_ > 0 && operations_ >= fail_at_; }

  /// Undoes some of the writes that no sync followed, as a disk's cache does. All databases must be closed.
  void cut_power(std::mt19937& random);

 private:
  friend struct FaultyFile;
  friend struct FaultyVfsCalls;

  /// What a write or truncation replaced.
  struct Unsynced {
    std::string path;
    std::int64_t offset;
    std::string before;
    std::int64_t size_before;
  };

  /// Counts an operation; SQLITE_OK or what it must return.
  int next(int io_error);
  void forget(const std::string& path);

  sqlite3_vfs vfs_{};
  sqlite3_vfs* real_;
  int operations_ = 0;
  int fail_at_ = 0;
  Fault fault_ = Fault::io_error;
  std::vector<Unsynced> unsynced_;
};

}  // namespace mmtune::test
