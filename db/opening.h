// How a database is opened: what for, and how long others that have locked it are waited for.
#pragma once

#include <atomic>
#include <chrono>

namespace mmtune {

enum class OpenMode {
  read_write,  ///< It creates the file (0600) and its directory (0700) where missing, and migrates older versions.
  read_only,   ///< the file must exist; older versions are refused with the command that migrates them; what a killed
               ///< writer left half done is undone first, where the file can be written
};

/// Time that may be spent waiting for locks, by all connections that draw on it together. Thread safe.
class LockBudget {
 public:
  explicit LockBudget(std::chrono::microseconds time) : left_(time.count()) {}

  /// What is left; negative where several waited at once.
  std::chrono::microseconds left() const { return std::chrono::microseconds(left_.load()); }
  void spend(std::chrono::microseconds time) { left_ -= time.count(); }

 private:
  std::atomic<std::chrono::microseconds::rep> left_;
};

}  // namespace mmtune
