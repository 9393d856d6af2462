#include "tuner/tune/deadlines.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tuner/text/text.h"

namespace mmtune {
namespace {

// A run that takes no more than this over its budget has kept it: the last race ends when it ends.
constexpr double kMostExcess = 0.1;
constexpr std::chrono::duration<double> kLeastExcess{5};

constexpr double kLeastAtOnce = 2;   // one that takes long would hold the search
constexpr double kHeadStart = 1.5;   // the head start as a multiple of a source's time, part of which it waits
constexpr std::size_t kNamed = 100;  // the most problems that are named

/// How many of the problems are worked on at once.
std::int64_t at_once(std::size_t problems, std::size_t lanes) {
  return static_cast<std::int64_t>(std::min(lanes, problems));
}

/// What each problem has of the time from `now` to `end`, where so many lanes work.
Deadlines::Clock::duration part_of(Deadlines::Clock::time_point now, Deadlines::Clock::time_point end,
                                   std::size_t problems, std::size_t lanes) {
  return (end - now) / static_cast<std::int64_t>(problems) * at_once(problems, lanes);
}

}  // namespace

std::chrono::duration<double> tolerance(std::chrono::duration<double> budget) {
  return std::max(kMostExcess * budget, kLeastExcess);
}

Pace pace_of(std::chrono::duration<double> part, std::chrono::duration<double> compile, double compilers) {
  const double in_turn = std::max(part / compile, 1.0 / Pace::kMostAhead);  // what one compiler makes
  return {.at_once = static_cast<std::size_t>(std::max(kLeastAtOnce, in_turn * compilers)),
          .ahead = static_cast<std::size_t>(std::min(1 + kHeadStart / in_turn, 1.0 * Pace::kMostAhead))};
}

Deadlines::Clock::duration Deadlines::part(Clock::time_point now, std::size_t problems, std::size_t lanes) const {
  return part_of(now, end_, problems, lanes);
}

Deadlines::Clock::time_point Deadlines::next(Clock::time_point now, std::size_t problems, std::size_t lanes) {
  if (!part_) {
    part_ = part_of(now, end_, problems, 1);
    latest_ = end_ + std::chrono::duration_cast<Clock::duration>(tolerance(end_ - now));
    least_patience_ = (latest_ - end_) / static_cast<std::int64_t>(problems);
  }
  return now + search_time(now, problems, lanes);
}

Deadlines::Clock::duration Deadlines::search_time(Clock::time_point now, std::size_t problems,
                                                  std::size_t lanes) const {
  const auto least = std::min(*part_ * at_once(problems, lanes), part_of(now, latest_, problems, lanes));
  const auto overtime = problems_ended_ > 0 ? overtime_ / problems_ended_ : expected_overtime_;
  return std::max(Clock::duration{}, std::max(part(now, problems, lanes), least) - overtime);
}

Deadlines::Clock::duration Deadlines::patience(Clock::time_point now, std::size_t problems, std::size_t lanes) const {
  const Clock::duration left = std::max(Clock::duration{}, latest_ - std::max(now, end_));
  const Clock::duration expected = std::min(part(now, problems, lanes) / 2, search_time(now, problems, lanes));
  return std::min(left, std::max(expected, least_patience_ * at_once(problems, lanes)));
}

bool Deadlines::fits(Clock::time_point now, Clock::time_point latest) const {
  return problems_ended_ == 0 || now + overtime_ / problems_ended_ < latest;
}

void Deadlines::ended(Clock::time_point deadline, Clock::time_point now) {
  overtime_ += std::max(Clock::duration{}, now - deadline);
  ++problems_ended_;
}

double least_problem_s(bool is_measured, int compile_jobs) {
  return static_cast<double>(kAwaited) * kCompile_s / std::max(1, compile_jobs) + (is_measured ? kExpectedRace_s : 0);
}

std::string budget_shortfall(double budget_s, std::size_t problems, std::size_t lanes, double least_problem_s) {
  const double least_s =
      static_cast<double>(problems) * least_problem_s / static_cast<double>(std::max<std::size_t>(1, lanes));
  if (budget_s <= 0 || least_s <= budget_s) return "";
  return fmt::format(
      "--budget {:.0f}s: is short: {} take about {:.0f} s, with {} candidates each; others may be left with fewer, the "
      "last with none; give more time, or fewer sizes",
      budget_s, counted(static_cast<std::int64_t>(problems), "problem"), least_s, kAwaited);
}

std::string budget_excess(double budget_s, double took_s) {
  const std::chrono::duration<double> budget(budget_s);
  if (budget_s <= 0 || took_s <= (budget + tolerance(budget)).count()) return "";
  return fmt::format(
      "--budget {:.0f}s: was not kept: the run took {:.0f} s, for what every problem needs at least; give more time, "
      "or fewer sizes",
      budget_s, took_s);
}

std::string budget_left(double budget_s, const std::vector<Problem>& left) {
  if (left.empty()) return "";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(left.size(), kNamed); ++i) names.push_back(to_string(left[i]));
  if (left.size() > kNamed) names.push_back("…");
  return fmt::format(
      "--budget {:.0f}s: had no time for {}, not tuned: {}; the same command goes on with what is left, or give more "
      "time",
      budget_s, counted(std::ssize(left), "problem"), fmt::join(names, ", "));
}

}  // namespace mmtune
