// When the searches of problems that share a budget end, and whether a run can keep it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "templates/problem/problem.h"

namespace mmtune {

/// Candidates that a search begins with and waits for as long as its problem has patience: others compile sooner and
/// are worse. Those that come before them and need no compiler are awaited too, up to kAwaitedAtHand in all. As many
/// that are ready are tried however late it is.
inline constexpr std::size_t kAwaited = 6;
inline constexpr std::size_t kAwaitedAtHand = 24;

/// Listed candidates that a measurement waits for in the same way: one alone compares nothing.
inline constexpr std::size_t kAwaitedListed = 3;

/// What a race is expected to take, the checks of its finalists included: 13.2 s for 24 sizes
/// (bench/results/nvidia-h100/whole_run.txt).
inline constexpr double kExpectedRace_s = 0.6;

/// The seconds in which one core compiles a source: 951 for 1476 (the same file).
inline constexpr double kCompile_s = 0.6;

/// What a run may take beyond its budget.
std::chrono::duration<double> tolerance(std::chrono::duration<double> budget);

/// What is compiled for searches that end by the clock. A search that orders more than compilers make in its time keeps
/// them from the next ones, and what takes them longer than a search has is begun before it.
struct Pace {
  std::size_t at_once = std::numeric_limits<std::size_t>::max();  ///< the most programs of a problem at once, or ahead
  std::size_t ahead = 4;  ///< the most problems that programs are compiled for ahead

  static constexpr std::size_t kMostAhead = 6;
};

/// The pace where each problem has `part`, a source takes `compile`, and so many compilers work for a lane.
Pace pace_of(std::chrono::duration<double> part, std::chrono::duration<double> compile, double compilers);

/// Gives every problem the same time, also the last ones: what problems take beyond their deadline, for operands, for a
/// race and for compilations that nothing could be measured without, is expected of the others, too. No problem gets
/// less than its part of the whole budget, so that the last do not pay for those that took longer than expected: the
/// run does, as long as that stays within its tolerance. A function of the clock's readings that it is given. Not
/// thread safe.
class Deadlines {
 public:
  using Clock = std::chrono::steady_clock;

  /// `expected_overtime` is assumed of a problem until one has ended.
  explicit Deadlines(Clock::time_point end, Clock::duration expected_overtime = {})
      : end_(end), expected_overtime_(expected_overtime) {}

  /// The deadline of a problem that begins now: `problems` are left, this one among them, and `lanes` of them are
  /// worked on at once. Now, if there is no time for it.
  Clock::time_point next(Clock::time_point now, std::size_t problems, std::size_t lanes);

  /// The time for a problem that begins now, all included. Below zero once the budget is over.
  Clock::duration part(Clock::time_point now, std::size_t problems, std::size_t lanes) const;

  /// What such a problem may wait beyond its deadline for the candidates that it begins with: its part of the
  /// tolerance, or more where it has time to search, up to half of its part, since that is then expected of the others
  /// too. After next().
  Clock::duration patience(Clock::time_point now, std::size_t problems, std::size_t lanes) const;

  /// Whether a problem that begins now is expected to end before `latest`; true until one has ended.
  bool fits(Clock::time_point now, Clock::time_point latest) const;

  /// A problem of that deadline has ended.
  void ended(Clock::time_point deadline, Clock::time_point now);

 private:
  Clock::duration search_time(Clock::time_point now, std::size_t problems, std::size_t lanes) const;

  Clock::time_point end_;  ///< the end of the budget
  Clock::duration expected_overtime_;
  std::optional<Clock::duration> part_;  ///< the part of the whole budget for one problem
  Clock::time_point latest_ = end_;      ///< the end of the budget and its tolerance, once a problem has begun
  Clock::duration least_patience_ = {};  ///< the part of the whole tolerance for one problem
  Clock::duration overtime_ = {};        ///< the overtime of all problems that have ended together
  std::int64_t problems_ended_ = 0;
};

/// The seconds that a problem takes with the first candidates alone: they are compiled by so many processes, and those
/// that were right race. For predictions there is no race.
double least_problem_s(bool is_measured, int compile_jobs);

/// The seconds from then until now.
inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What to say before a run that is not expected to keep its budget; empty for one that is, and without a budget.
std::string budget_shortfall(double budget_s, std::size_t problems, std::size_t lanes, double least_problem_s);

/// What to say after a run that took clearly longer than its budget; empty for one that did not, and without a budget.
std::string budget_excess(double budget_s, double took_s);

/// What to say of the problems that a budget had no time for; empty if there are none.
std::string budget_left(double budget_s, const std::vector<Problem>& left);

}  // namespace mmtune
