#include "tuner/tune/run_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/log.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

std::string tflops(const Problem& problem, double time_us) {
  return fmt::format("{:.1f} TFLOP/s", flops(problem) / time_us * 1e-6);
}

}  // namespace

RunProgress::Count RunProgress::count() const {
  const std::lock_guard lock(mutex_);
  return trials();
}

void RunProgress::skip() {
  const std::lock_guard lock(mutex_);
  --problems_left_;
}

RunProgress::Search RunProgress::begin(const Problem& problem, std::int64_t most) {
  const std::lock_guard lock(mutex_);
  --problems_left_;
  const std::int64_t expected = std::min(most, each_);
  begun_ += expected;
  show(problem, 0);
  return {*this, problem, expected};
}

void RunProgress::Search::judge(double best_us) {
  const std::lock_guard lock(progress_.mutex_);
  if (++judged_ > expected_) {
    ++progress_.begun_;
    ++expected_;
  }
  ++progress_.done_;
  progress_.show(problem_, best_us);
}

void RunProgress::Search::end(const Winner* winner) {
  const std::lock_guard lock(progress_.mutex_);
  progress_.begun_ -= expected_ - judged_;
  if (judged_ > 0) progress_.each_ = judged_;
  if (winner != nullptr) log::write(log::Level::warning, result_line(*winner));
}

void RunProgress::show(const Problem& problem, double best_us) {
  const auto best = best_us > 0 ? fmt::format(": {} so far", tflops(problem, best_us)) : "";
  shown_.update(trials().done, trials().total, to_string(problem) + best);
}

std::string result_line(const Winner& winner) {
  const TrialKey& key = winner.trial.key;
  const auto* predicted = key.evidence == Evidence::predicted ? " predicted" : "";
  return fmt::format("{}: {}{}, best of {}", to_string(key.problem), tflops(key.problem, winner.trial.timing.median_us),
                     predicted, counted(winner.candidates, "candidate"));
}

}  // namespace mmtune
