#include "tuner/tune/run_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/base/printable.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// The speed with two digits: the times of a search are first ones, and the race that follows measures anew.
std::string rough_tflops(const Problem& problem, double time_us) {
  const double value = tflops(problem, time_us);
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return fmt::format("{:.{}f} TFLOP/s", std::round(value / unit) * unit, unit < 1 ? -std::lround(std::log10(unit)) : 0);
}

}  // namespace

ProgressState RunProgress::state() const {
  const std::lock_guard lock(mutex_);
  return state_of_all();
}

ProgressState RunProgress::state_of_all() const {
  constexpr double kEnough = 0.25;  // the part of a single problem
  const double share = problems_ > 0 ? (static_cast<double>(ended_) + open_) / static_cast<double>(problems_) : 1;
  return {ended_, problems_, share, ended_ > 0 || (problems_ == 1 && share >= kEnough)};
}

void RunProgress::skip() {
  const std::lock_guard lock(mutex_);
  --problems_;
}

RunProgress::Search RunProgress::begin(const Problem& problem, std::int64_t most) {
  const std::lock_guard lock(mutex_);
  show(problem, 0);
  return {*this, problem, std::min(most, each_)};
}

double RunProgress::Search::share() const {
  constexpr double kSearch = 0.9;  // the part of the work that is the search; the race of the best is the rest
  const auto expected = static_cast<double>(std::max<std::int64_t>(expected_, 1));
  return kSearch * std::min(static_cast<double>(judged_) / expected, 1.0);
}

void RunProgress::Search::judge(double best_us) {
  const std::lock_guard lock(progress_.mutex_);
  const double before = share();
  ++judged_;
  progress_.open_ += share() - before;
  progress_.show(problem_, best_us);
}

void RunProgress::Search::end(const Winner* winner) {
  const std::lock_guard lock(progress_.mutex_);
  progress_.open_ -= share();
  ++progress_.ended_;
  if (judged_ > 0) progress_.each_ = judged_;
  if (winner != nullptr) log::warning("{}", result_line(*winner));
}

void RunProgress::show(const Problem& problem, double best_us) {
  const auto best = best_us > 0 ? fmt::format(": about {} so far", rough_tflops(problem, best_us)) : "";
  shown_.update(state_of_all(), to_string(problem) + best);
}

std::string failure_line(const Trial& trial) {
  constexpr std::size_t kLongest = 300;
  std::string_view line, rest = trim(trial.note);
  while (!rest.empty()) {
    const std::string_view next = trim(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    if (line.empty()) line = next;
    if (next.find("error") == next.npos) continue;
    line = next;
    break;
  }
  return fmt::format("{}{}{}", to_string(trial.outcome), line.empty() ? "" : ": ", printable(line.substr(0, kLongest)));
}

std::string result_line(const Winner& winner) {
  const TrialKey& key = winner.trial.key;
  const auto* predicted = key.evidence == Evidence::predicted ? " predicted" : "";
  return fmt::format("{}: {:.1f} TFLOP/s{}, best of {}", to_string(key.problem),
                     tflops(key.problem, winner.trial.timing.median_us), predicted,
                     counted(winner.candidates, "candidate"));
}

}  // namespace mmtune
