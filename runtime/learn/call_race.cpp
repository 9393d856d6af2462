#include "runtime/learn/call_race.h"

#include <algorithm>
#include <cmath>

namespace mmtune {
namespace {

double median(std::array<double, CallRace::kRounds> samples, std::size_t count) {
  if (count == 0) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(samples.begin(), middle, samples.begin() + static_cast<std::ptrdiff_t>(count));
  if (count % 2 != 0) return *middle;
  return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

}  // namespace

CallRace::CallRace(std::size_t kernels, double loading_us, std::uint64_t seed)
    : runners_(kernels), loading_us_(loading_us), state_(seed) {
  wait_until_earned(cost_us(0), 0);
}

// -- the rule --------------------------------------------------------------------------------------------------------

double CallRace::median_us(std::size_t kernel) const {
  return median(runners_[kernel].samples_us, runners_[kernel].samples);
}

bool CallRace::is_faster(const Runner& rival) const {
  const Runner& decided = runners_.front();
  std::size_t half_pairs = 0;  // twice the number of lost pairs, plus that of ties
  for (std::size_t i = 0; i < kRounds; ++i) {
    for (std::size_t j = 0; j < kRounds; ++j) {
      const double us = rival.samples_us[i];
      half_pairs += us > decided.samples_us[j] ? 2 : (us == decided.samples_us[j] ? 1 : 0);
    }
  }
  return half_pairs <= 2 * kMostLostPairs &&
         median(rival.samples_us, kRounds) <= kWorth * median(decided.samples_us, kRounds);
}

/// Dropping a rival costs nothing but what it might have gained, so that little is asked: none of its samples is
/// shorter than the median of kernel 0.
void CallRace::drop_the_hopeless() {
  const double decided_us = median_us(0);
  for (std::size_t i = 1; i < runners_.size(); ++i) {
    Runner& rival = runners_[i];
    if (rival.samples < kLeastRounds || runners_[0].samples < kLeastRounds) continue;
    const double* samples = rival.samples_us.data();
    if (*std::min_element(samples, samples + rival.samples) >= decided_us) rival.is_dropped = true;
  }
}

void CallRace::finish_if_known() {
  const auto is_dropped = [](const Runner& runner) { return runner.is_dropped; };
  const auto is_done = [](const Runner& runner) { return runner.is_dropped || runner.samples == kRounds; };
  is_over_ = std::all_of(runners_.begin() + 1, runners_.end(), is_dropped) ||
             std::all_of(runners_.begin(), runners_.end(), is_done);
  if (!is_over_) return;
  for (std::size_t i = 1; i < runners_.size(); ++i) {
    if (runners_[i].is_dropped || !is_faster(runners_[i])) continue;
    if (winner_ == 0 || median_us(i) < median_us(winner_)) winner_ = i;
  }
}

/// One of those with the fewest samples: a round has one of each.
void CallRace::choose_next() {
  next_ = 0;
  if (first_samples_ < kFirstSamples) return;
  std::size_t fewest = kRounds;
  std::uint64_t ties = 0;
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    if (runners_[i].is_dropped || runners_[i].samples > fewest) continue;
    ties = runners_[i].samples < fewest ? 1 : ties + 1;
    fewest = runners_[i].samples;
    if (random(ties) == 0) next_ = i;
  }
}

/// Vigna's splitmix64; the remainder's bias does not matter here.
std::uint64_t CallRace::random(std::uint64_t below) {
  std::uint64_t bits = state_ += 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return (bits ^ (bits >> 31)) % below;
}

// -- the budget ------------------------------------------------------------------------------------------------------

double CallRace::earned_us(std::int64_t calls) const { return kShare * static_cast<double>(calls) * shortest_us(); }

double CallRace::spent_us() const {
  double us = fixed_us_;
  for (std::size_t i = 1; i < runners_.size(); ++i) {
    const Runner& rival = runners_[i];
    us += std::max(0.0, rival.sum_us - static_cast<double>(rival.samples) * shortest_us());
  }
  return is_timing_ ? us + expected_extra_us(next_) : us;
}

/// A rival is expected to take as long as its longest sample.
double CallRace::expected_extra_us(std::size_t kernel) const {
  if (kernel == 0) return 0;
  const double longest_us = runners_[kernel].longest_us;
  return longest_us > 0 ? std::max(0.0, longest_us - shortest_us()) : (kUnknownTimes - 1) * shortest_us();
}

double CallRace::cost_us(std::size_t kernel) const { return kTimingUs + expected_extra_us(kernel); }

void CallRace::wait_until_earned(double us, std::int64_t calls) {
  const double needed = std::ceil((spent_us() + us) / (kShare * shortest_us()));
  // There is no such call beyond any count.
  constexpr double kMost = 1e18;
  const auto earned_at = static_cast<std::int64_t>(std::min(kMost, needed));
  next_call_ = std::max(calls + 1, earned_at) + static_cast<std::int64_t>(random(kJitter));
}

// -- the course ------------------------------------------------------------------------------------------------------

std::optional<std::size_t> CallRace::begin(std::int64_t calls) {
  if (spent_us() + cost_us(next_) > earned_us(calls)) {
    wait_until_earned(cost_us(next_), calls);
    return std::nullopt;
  }
  fixed_us_ += kTimingUs;
  is_timing_ = true;
  wait_until_earned(kLookUs, calls);
  return next_;
}

void CallRace::add(double us, std::int64_t calls) {
  is_timing_ = false;
  Runner& runner = runners_[next_];
  if (next_ == 0) {
    // What loading took counts from here on: before, nothing says how many calls are worth it.
    if (shortest_us_ == 0) fixed_us_ += loading_us_;
    shortest_us_ = shortest_us_ == 0 ? us : std::min(shortest_us_, us);
  }
  if (next_ == 0 && first_samples_ < kFirstSamples) {
    ++first_samples_;
  } else {
    runner.samples_us[runner.samples++] = us;
    runner.sum_us += us;
    runner.longest_us = std::max(runner.longest_us, us);
    drop_the_hopeless();
  }
  go_on(calls);
}

void CallRace::go_on(std::int64_t calls) {
  finish_if_known();
  if (is_over_) {
    next_call_ = calls + 1;  // The next call takes the result.
    return;
  }
  choose_next();
  wait_until_earned(cost_us(next_), calls);
}

void CallRace::look_again(std::int64_t calls) {
  fixed_us_ += kLookUs;
  wait_until_earned(kLookUs, calls);
}

void CallRace::cancel(std::int64_t calls) {
  is_timing_ = false;
  wait_until_earned(cost_us(next_), calls);
}

void CallRace::drop(std::int64_t calls) {
  is_timing_ = false;
  runners_[next_].is_dropped = next_ != 0;
  go_on(calls);
}

}  // namespace mmtune
