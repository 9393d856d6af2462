#include "tuner/search/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <utility>

#include "templates/cost.h"

namespace mmtune {

namespace {

constexpr std::array kEfforts{Effort{"quick", 24}, Effort{"default", 170}, Effort{"full", 640}};

using Maker = std::unique_ptr<Strategy> (*)(const StrategySetup&);
constexpr std::array<std::pair<std::string_view, Maker>, 4> kStrategies{
    {{"exhaustive", make_exhaustive}, {"random", make_random}, {"guided", make_guided}, {"ranked", make_ranked}}};

}  // namespace

Prediction predict(const Family& family, const Problem& problem, const Config& config, const DeviceSpec& device) {
  const LaunchPlan plan = family.plan(problem, config, device);
  return predict(problem, plan, device, plan.work.registers);
}

std::string key_of(const Candidate& candidate) {
  return fmt::format("{} {}", candidate.family->name(), candidate.config.text());
}

Candidate Ranking::operator[](std::size_t rank) const {
  const auto& [space, ranked] = entries_[rank];
  return {&space->family(), space->config(ranked.number), ranked.predicted_us};
}

Spaces::Spaces(const std::vector<const Family*>& families, const Problem& problem, const DeviceSpec& device,
               const Restriction& restriction)
    : problem_(problem), device_(device) {
  for (const Family* family : families) spaces_.emplace_back(*family, problem_, device_, restriction);
}

Prediction Spaces::predict(const Family& family, const Config& config) const {
  return mmtune::predict(family, problem_, config, device_);
}

Ranking Spaces::ranked(std::size_t limit) const {
  Ranking ranking;
  for (const SearchSpace& space : spaces_) {
    for (const RankedConfig& config : space.ranked(limit)) ranking.entries_.push_back({&space, config});
  }
  std::stable_sort(ranking.entries_.begin(), ranking.entries_.end(),
                   [](const auto& x, const auto& y) { return x.config.predicted_us < y.config.predicted_us; });
  if (ranking.entries_.size() > limit) ranking.entries_.resize(limit);
  return ranking;
}

std::vector<Candidate> Spaces::neighbours(const Candidate& candidate) const {
  std::vector<Candidate> candidates;
  for (const SearchSpace& space : spaces_) {
    if (&space.family() != candidate.family) continue;
    for (Config& config : space.neighbours(candidate.config)) {
      candidates.push_back({candidate.family, std::move(config), 0});
    }
  }
  return candidates;
}

bool Spaces::contains(const Candidate& candidate) const {
  return std::any_of(spaces_.begin(), spaces_.end(), [&](const SearchSpace& space) {
    return &space.family() == candidate.family && space.contains(candidate.config);
  });
}

void Favourites::add(Candidate winner) {
  constexpr std::size_t kMost = 3;
  candidates_.insert(candidates_.begin(), std::move(winner));
  if (candidates_.size() > kMost) candidates_.pop_back();
}

const Effort& effort_named(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Effort& effort : kEfforts) {
    if (effort.name == name) return effort;
    known.push_back(effort.name);
  }
  throw UsageError(fmt::format("effort '{}': unknown, use one of {}", name, fmt::join(known, ", ")));
}

const std::vector<std::string_view>& strategy_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    list.reserve(kStrategies.size());
    for (const auto& [name, make] : kStrategies) list.push_back(name);
    return list;
  }();
  return names;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySetup& setup) {
  for (const auto& [known, make] : kStrategies) {
    if (known == name) return make(setup);
  }
  throw UsageError(fmt::format("strategy '{}': unknown, use one of {}", name, fmt::join(strategy_names(), ", ")));
}

}  // namespace mmtune
