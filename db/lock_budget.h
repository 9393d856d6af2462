// How long a program waits for databases that others have locked.
#pragma once

#include <atomic>
#include <chrono>

namespace mmtune {

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
