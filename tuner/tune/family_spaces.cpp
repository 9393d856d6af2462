#include "tuner/tune/family_spaces.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "templates/family/split_k.h"

namespace mmtune {
namespace {

/// The candidate with all values of the parameters at these positions.
std::vector<Candidate> varied(const Candidate& candidate, const std::vector<std::size_t>& positions) {
  std::vector<Candidate> all{candidate};
  for (const std::size_t position : positions) {
    std::vector<Candidate> next;
    for (Candidate& each : all) {
      for (const int value : each.family->params()[position].values) {
        each.config.set(position, value);
        next.push_back(each);
      }
    }
    all = std::move(next);
  }
  return all;
}

}  // namespace

Prediction predict(const Family& family, const Problem& problem, const Config& config, const DeviceSpec& device) {
  const LaunchPlan plan = family.plan(problem, config, device);
  return predict(problem, plan, device, plan.work.registers);
}

Description describe(const Candidate& candidate, const Problem& problem, const DeviceSpec& device) {
  const Prediction prediction = predict(*candidate.family, problem, candidate.config, device);
  Description description;
  description.expected_us = prediction.time_us;
  description.features.group = candidate.family->name();
  description.features.shares.assign(prediction.shares.begin(), prediction.shares.end());
  const auto params = candidate.family->params();
  for (std::size_t i = 0; i < params.size(); ++i) {
    const auto& values = params[i].values;
    const auto at = std::find(values.begin(), values.end(), candidate.config.settings()[i].value);
    description.features.digits.push_back(static_cast<std::uint16_t>(at - values.begin()));
  }
  return description;
}

FamilySpaces::FamilySpaces(const std::vector<const Family*>& families, const Problem& problem, const DeviceSpec& device,
                           const Restriction& restriction)
    : problem_(problem), device_(device) {
  CandidateNumber first = 0;
  for (const Family* family : families) {
    const SearchSpace& space = spaces_.emplace_back(*family, problem_, device_, restriction);
    firsts_.push_back(first);
    first += space.size();
  }
}

std::size_t FamilySpaces::part_of(CandidateNumber number) const {
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), number);
  return static_cast<std::size_t>(after - firsts_.begin()) - 1;
}

std::vector<RankedCandidate> FamilySpaces::ranked(std::size_t limit) const {
  constexpr std::size_t kMostKept = 100'000;  // 1.6 MB
  if (limit > kMostKept) return rank(limit);
  const std::lock_guard lock(ranking_->mutex);
  if (ranking_->limit != limit) {
    ranking_->candidates = rank(limit);
    ranking_->limit = limit;
  }
  return ranking_->candidates;
}

std::vector<RankedCandidate> FamilySpaces::rank(std::size_t limit) const {
  std::vector<RankedCandidate> ranking;
  for (std::size_t i = 0; i < spaces_.size(); ++i) {
    for (const RankedConfig& each : spaces_[i].ranked(limit)) {
      ranking.push_back({firsts_[i] + each.number, each.predicted_us});
    }
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const RankedCandidate& x, const RankedCandidate& y) { return x.expected_us < y.expected_us; });
  if (ranking.size() > limit) ranking.resize(limit);
  return ranking;
}

Candidate FamilySpaces::candidate(CandidateNumber number) const {
  const std::size_t part = part_of(number);
  return {&spaces_[part].family(), spaces_[part].config(number - firsts_[part])};
}

std::vector<CandidateNumber> FamilySpaces::neighbours(CandidateNumber number) const {
  const std::size_t part = part_of(number);
  const SearchSpace& space = spaces_[part];
  std::vector<CandidateNumber> numbers;
  for (const Config& config : space.neighbours(space.config(number - firsts_[part]))) {
    numbers.push_back(firsts_[part] + *space.number(config));
  }
  return numbers;
}

Description FamilySpaces::describe(CandidateNumber number) const {
  return mmtune::describe(candidate(number), problem_, device_);
}

std::optional<CandidateNumber> FamilySpaces::number(const Candidate& candidate) const {
  for (std::size_t i = 0; i < spaces_.size(); ++i) {
    if (&spaces_[i].family() != candidate.family || !spaces_[i].contains(candidate.config)) continue;
    return firsts_[i] + *spaces_[i].number(candidate.config);
  }
  return std::nullopt;
}

std::vector<CandidateNumber> FamilySpaces::numbers(const std::vector<Candidate>& candidates) const {
  std::vector<CandidateNumber> numbers;
  for (const Candidate& each : candidates) {
    if (const auto known = number(each)) numbers.push_back(*known);
  }
  return numbers;
}

std::optional<CandidateNumber> FamilySpaces::fitted(const Candidate& candidate) const {
  const auto split = split_position(*candidate.family);
  return fitted(candidate, split ? std::vector{*split} : std::vector<std::size_t>{},
                [](const Candidate&) { return true; });
}

std::optional<CandidateNumber> FamilySpaces::fitted(const Candidate& candidate,
                                                    const std::vector<std::size_t>& positions,
                                                    const std::function<bool(const Candidate&)>& may_be_taken) const {
  std::optional<CandidateNumber> best = number(candidate);
  double best_us = best ? predict_us(candidate) : std::numeric_limits<double>::infinity();
  for (const Candidate& each : varied(candidate, positions)) {
    const auto known = number(each);
    if (!known) continue;
    const double time_us = predict_us(each);
    if (time_us >= best_us || !may_be_taken(each)) continue;
    best = known;
    best_us = time_us;
  }
  return best;
}

LaunchPlan FamilySpaces::plan(const Candidate& candidate) const {
  return candidate.family->plan(problem_, candidate.config, device_);
}

double FamilySpaces::predict_us(const Candidate& candidate) const {
  return predict(*candidate.family, problem_, candidate.config, device_).time_us;
}

std::shared_ptr<const FamilySpaces> SpaceMemory::of(const Problem& problem) {
  const std::lock_guard lock(mutex_);
  for (const auto& each : kept_) {
    if (each->problem() == problem) return each;
  }
  if (kept_.size() == kMost) kept_.pop_front();
  return kept_.emplace_back(std::make_shared<const FamilySpaces>(families_, problem, device_, restriction_));
}

}  // namespace mmtune
