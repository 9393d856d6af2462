#include "tuner/race/race.h"

#include <mmtune/error.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

namespace mmtune {
namespace {

double median_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return median_of_sorted(samples);
}

}  // namespace

Race::Race(std::size_t finalists, const RaceRules& rules)
    : rules_(rules), next_look_(rules.least_rounds), running_(finalists), samples_us_(finalists) {
  if (finalists == 0) throw Error("race: no finalists, a fault of mmtune");
  std::iota(running_.begin(), running_.end(), std::size_t{0});
  placings_.resize(finalists);
  for (std::size_t at = rules_.least_rounds; at < rules_.most_rounds; at = after(at)) ++looks_;
  tail_ = tail_for(finalists);
}

std::size_t Race::after(std::size_t look) const { return std::min(rules_.most_rounds, look + (look + 1) / 2); }

double Race::tail_for(std::size_t finalists) const {
  return rules_.error / static_cast<double>(std::max<std::size_t>(1, finalists - 1) * looks_);
}

bool Race::add(const std::vector<double>& round_us, bool disturbed) {
  if (over_ || round_us.size() != running_.size()) throw Error("race: not the round to run, a fault of mmtune");
  if (disturbed && repeats_ < rules_.most_repeats) {
    ++repeats_;
    return false;
  }
  for (std::size_t i = 0; i < running_.size(); ++i) samples_us_[running_[i]].push_back(round_us[i]);
  ++rounds_;
  if (rounds_ == rules_.early_rounds && running_.size() > rules_.many) drop_far();
  if (rounds_ == next_look_) look();
  return true;
}

std::size_t Race::leader() const {
  const auto slower = [this](std::size_t x, std::size_t y) {
    return median_of(samples_us_[x]) < median_of(samples_us_[y]);
  };
  return *std::min_element(running_.begin(), running_.end(), slower);
}

Ratio Race::ratio_to(std::size_t leader, std::size_t finalist) const {
  const std::span<const double> theirs(samples_us_[finalist]);
  return ratio_of(theirs, std::span<const double>(samples_us_[leader]).first(theirs.size()), tail_);
}

void Race::drop_far() {
  const std::size_t first = leader();
  const double far_us = rules_.far * median_of(samples_us_[first]);
  std::erase_if(running_, [&](std::size_t each) {
    const std::vector<double>& theirs = samples_us_[each];
    if (*std::min_element(theirs.begin(), theirs.end()) <= far_us) return false;
    placings_[each] = {Standing::slower, ratio_to(first, each)};
    return true;
  });
  tail_ = tail_for(running_.size());
}

void Race::look() {
  const std::size_t first = leader();
  const bool can_tell = interval_rank(rounds_, tail_) > 0;
  std::vector<std::size_t> left;
  bool undecided = false;
  for (const std::size_t each : running_) {
    Placing& placing = placings_[each];
    placing.ratio = ratio_to(first, each);
    placing.standing = each == first                      ? Standing::leader
                       : !can_tell                        ? Standing::undecided
                       : placing.ratio.high <= rules_.tie ? Standing::tied
                       : placing.ratio.low > rules_.noise ? Standing::slower
                                                          : Standing::undecided;
    undecided |= placing.standing == Standing::undecided;
    if (placing.standing != Standing::slower) left.push_back(each);
  }
  running_ = std::move(left);
  over_ = !undecided || rounds_ >= rules_.most_rounds;
  next_look_ = after(next_look_);
}

std::vector<Placing> Race::placings() const {
  std::vector<Placing> placings = placings_;
  if (rounds_ == 0) throw Error("race: no round was run, a fault of mmtune");
  // Between looks no test is made, but the leader and the ratios are those of all rounds.
  const std::size_t first = leader();
  for (const std::size_t each : running_) {
    placings[each].ratio = ratio_to(first, each);
    if (placings[each].standing == Standing::leader) placings[each].standing = Standing::undecided;
  }
  placings[first].standing = Standing::leader;
  return placings;
}

std::vector<Placing> race_without_noise(const std::vector<double>& times_us) {
  Race race(times_us.size());
  while (!race.over()) {
    std::vector<double> round_us;
    for (const std::size_t i : race.running()) round_us.push_back(times_us[i]);
    race.add(round_us);
  }
  return race.placings();
}

bool is_as_fast(const Placing& placing) {
  return placing.standing != Standing::slower && placing.ratio.median <= kWorthLess;
}

std::size_t choose_winner(const std::vector<Placing>& placings, const std::vector<Claim>& claims) {
  const auto rank = [&](std::size_t i) {
    const Claim& claim = claims[i];
    const bool eligible = claim.is_default || claim.is_incumbent || placings[i].ratio.median <= kWorthLess;
    return std::tuple(placings[i].standing == Standing::slower, !eligible, !claim.is_default, !claim.is_incumbent,
                      claim.neighbour, claim.footprint_bytes, claim.name);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < claims.size(); ++i) {
    if (rank(i) < rank(best)) best = i;
  }
  return best;
}

}  // namespace mmtune
