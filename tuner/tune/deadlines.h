// When the searches of problems that share a budget end, and whether a run can keep it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mmtune {

/// Candidates that a search begins with and waits for, however late it is: others compile sooner and are worse. Those
/// that come before them and need no compiler are awaited too, up to kAwaitedAtHand in all.
inline constexpr std::size_t kAwaited = 6;
inline constexpr std::size_t kAwaitedAtHand = 24;

/// Listed candidates that a measurement waits for, however late it is: one alone compares nothing.
inline constexpr std::size_t kAwaitedListed = 3;

/// What a race is expected to take, the checks of its finalists included.
inline constexpr double kExpectedRace_s = 2.5;

/// Gives every problem the same time, also the last ones: what problems take beyond their deadline, for operands, for a
/// race and for compilations that nothing could be measured without, is expected of the others, too. No problem gets
/// less than its part of the whole budget, so that the last do not pay for those that took longer than expected: the
/// run does. A function of the clock's readings that it is given. Not thread safe.
class Deadlines {
 public:
  using Clock = std::chrono::steady_clock;

  /// `expected_overtime` is assumed of a problem until one has ended.
  explicit Deadlines(Clock::time_point end, Clock::duration expected_overtime = {})
      : end_(end), expected_overtime_(expected_overtime) {}

  /// The deadline of a problem that begins now: `problems` are left, this one among them, and `lanes` of them are
  /// worked on at once. Now, if there is no time for it.
  Clock::time_point next(Clock::time_point now, std::size_t problems, std::size_t lanes);

  /// Whether a problem that begins now is expected to end before `latest`; true until one has ended.
  bool fits(Clock::time_point now, Clock::time_point latest) const;

  /// A problem of that deadline has ended.
  void ended(Clock::time_point deadline, Clock::time_point now);

 private:
  Clock::time_point end_;  ///< the end of the budget
  Clock::duration expected_overtime_;
  std::optional<Clock::duration> part_;  ///< the part of the whole budget for one problem
  Clock::duration overtime_ = {};        ///< the overtime of all problems that have ended together
  std::int64_t problems_ended_ = 0;
};

/// The seconds that a problem takes at least, however small its budget: the first candidates are compiled by so many
/// processes, and those that were right race. For predictions there is no race.
double least_problem_s(bool is_measured, int compile_jobs);

/// What to say before a run that is not expected to keep its budget; empty for one that is, and without a budget.
std::string budget_shortfall(double budget_s, std::size_t problems, std::size_t lanes, double least_problem_s);

/// What to say after a run that took clearly longer than its budget; empty for one that did not, and without a budget.
std::string budget_excess(double budget_s, double took_s);

}  // namespace mmtune
