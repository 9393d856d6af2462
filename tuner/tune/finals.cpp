#include "tuner/tune/finals.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/log.h"
#include "tuner/tune/launches.h"

namespace mmtune {
namespace {

constexpr std::size_t kJudgedAgain = 6;  // the fastest finalists that race again, after one of them stopped a race
constexpr int kLostRaces = 3;            // No more races are run after so many that stopped.

/// An outcome that a user should hear of; others, like too_slow, are the rule.
bool is_fault(Outcome outcome) {
  constexpr std::array kFaults{Outcome::wrong_result, Outcome::guard_violation, Outcome::unstable, Outcome::timed_out,
                               Outcome::crashed};
  return std::find(kFaults.begin(), kFaults.end(), outcome) != kFaults.end();
}

}  // namespace

bool Finals::add(const Program& program, const Trial& trial) {
  if (trial.outcome != Outcome::ok) {
    note_fault(trial);
    if (trial.outcome == Outcome::too_slow) too_slow_.push_back({program, trial});
    return true;
  }
  if (!may_win(trial)) return false;
  finalists_.push_back({program, trial});
  if (best_us_ == 0 || trial.timing.median_us < best_us_) best_us_ = trial.timing.median_us;
  return true;
}

const Finalist* Finals::fastest_in(const FamilySpaces& spaces) const {
  const Finalist* fastest = nullptr;
  for (const Finalist& each : finalists_) {
    if (!spaces.number(each.program.candidate)) continue;
    if (fastest == nullptr || each.trial.timing.median_us < fastest->trial.timing.median_us) fastest = &each;
  }
  return fastest;
}

std::vector<Candidate> Finals::take_without_program() {
  std::vector<Candidate> taken;
  const auto take = [&](Finalist& each) {
    if (best_us_ > 0 && !may_be_fastest(each.trial.key.problem, each.trial.timing.median_us, best_us_)) return false;
    if (add_code(each.program, setup_.store, setup_.preparation.target().name)) return false;
    taken.push_back(each.program.candidate);
    return true;
  };
  std::erase_if(finalists_, take);
  std::erase_if(too_slow_, take);
  note_best();
  return taken;
}

bool Finals::has_code(Finalist finalist) const {
  return add_code(finalist.program, setup_.store, setup_.preparation.target().name);
}

const Finalist* Finals::winner() {
  try_too_slow_again();
  if (setup_.options.is_part) return finalists_.empty() || setup_.stopped() ? nullptr : &finalists_.front();
  for (int lost = 0; lost < kLostRaces && !finalists_.empty();) {
    if (setup_.stopped()) return nullptr;
    try {
      const std::size_t winner = race(finalists_, setup_.lane, setup_.store, setup_.preparation.target().name);
      if (!drop_faulty()) return &finalists_[winner];
    } catch (const RaceLostError& error) {
      log::warning("{}: the race between the fastest stopped: {}", to_string(finalists_.front().trial.key.problem),
                   error.what());
      ++lost;
      judge_fastest_again();
      drop_faulty();
    }
  }
  return finalists_.empty() ? nullptr : &finalists_.front();
}

bool Finals::may_win(const Trial& trial) const {
  return trial.outcome == Outcome::ok && (trial.deterministic || !setup_.options.deterministic);
}

void Finals::note_fault(const Trial& trial) {
  if (!is_fault(trial.outcome)) return;
  const TrialKey& key = trial.key;
  log::warning("{}: {} {}: {}: {}", to_string(key.problem), key.family, key.config, to_string(trial.outcome),
               trial.note);
  if (has_killed(trial) && !is_set_aside(key, setup_.lane, setup_.store)) saw_first_kill_ = true;
}

/// The fastest, once more and each alone. Leaves the finalists sorted.
void Finals::judge_fastest_again() {
  constexpr double kNoBest_us = 0;  // No candidate is too slow for it.
  for (std::size_t i = 0; i < std::min(kJudgedAgain, finalists_.size()) && !setup_.stopped(); ++i) {
    judge_.judge_again(finalists_[i], kNoBest_us);
  }
  sort_by_time(finalists_);
}

/// What may not win after all is no finalist any more. Whether there was one.
bool Finals::drop_faulty() {
  const auto dropped = std::erase_if(finalists_, [this](const Finalist& each) {
    if (may_win(each.trial)) return false;
    note_fault(each.trial);
    return true;
  });
  if (dropped > 0) try_too_slow_again();
  return dropped > 0;
}

/// Leaves the finalists sorted.
void Finals::note_best() {
  sort_by_time(finalists_);
  best_us_ = finalists_.empty() ? 0 : finalists_.front().trial.timing.median_us;
}

/// Leaves the finalists sorted.
void Finals::try_too_slow_again() {
  note_best();
  for (Finalist& each : std::exchange(too_slow_, {})) {
    if (setup_.stopped()) return;
    const Trial& trial = each.trial;
    if (best_us_ == 0 || may_be_fastest(trial.key.problem, trial.timing.median_us, best_us_)) {
      judge_.judge_again(each, best_us_);
    }
    add(each.program, each.trial);
  }
  sort_by_time(finalists_);
}

}  // namespace mmtune
