#include "tuner/tune/deadlines.h"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/text/text.h"

namespace mmtune {
namespace {

// The time to compile one source on one core of the H200's host: 531 s for 857 programs
// (bench/results/nvidia-h200/whole_run.txt).
constexpr double kCompile_s = 0.6;

// A run that takes no more than this over its budget has kept it: the last race ends when it ends.
constexpr double kMostExcess = 1.05;
constexpr double kMostExcess_s = 2;

}  // namespace

Deadlines::Clock::time_point Deadlines::next(Clock::time_point now, std::size_t problems, std::size_t lanes) {
  const auto part = (end_ - now) / static_cast<std::int64_t>(problems);
  if (!part_) part_ = part;
  const auto share = std::max(part, *part_) * static_cast<std::int64_t>(std::min(lanes, problems));
  const auto overtime = problems_ended_ > 0 ? overtime_ / problems_ended_ : expected_overtime_;
  return now + std::max(Clock::duration{}, share - overtime);
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
      "--budget {:.0f}s: may not be kept: about {:.0f} s for {}, since {} candidates of each are compiled and tried "
      "however late it is; give more time, or fewer sizes",
      budget_s, least_s, counted(static_cast<std::int64_t>(problems), "problem"), kAwaited);
}

std::string budget_excess(double budget_s, double took_s) {
  if (budget_s <= 0 || took_s <= kMostExcess * budget_s + kMostExcess_s) return "";
  return fmt::format(
      "--budget {:.0f}s: was not kept: the run took {:.0f} s, for what every problem needs at least; give more time, "
      "or fewer sizes",
      budget_s, took_s);
}

}  // namespace mmtune
