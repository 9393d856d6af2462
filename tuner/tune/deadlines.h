// When the searches of problems that share a budget end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mmtune {

/// Gives every problem the same time, also the last ones: what problems take beyond their deadline, for a race and for
/// compilations that nothing could be measured without, is expected of the others, too. Not thread safe.
class Deadlines {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadlines(Clock::time_point end) : end_(end) {}

  /// Of a problem that begins now: `problems` are left, this one among them, and `lanes` of them are worked on at once.
  /// Now, if there is no time left.
  Clock::time_point next(Clock::time_point now, std::size_t problems, std::size_t lanes) const;

  /// A problem of that deadline has ended.
  void ended(Clock::time_point deadline, Clock::time_point now);

 private:
  Clock::time_point end_;          ///< of the budget
  Clock::duration overtime_ = {};  ///< of all problems that have ended together
  std::int64_t problems_ended_ = 0;
};

}  // namespace mmtune
