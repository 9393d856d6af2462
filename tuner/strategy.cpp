#include "tuner/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <future>
#include <iterator>
#include <utility>

#include "templates/cost.h"

namespace mmtune {

namespace {

constexpr std::array kEfforts{Effort{"quick", 12, 24}, Effort{"default", 48, 160}, Effort{"full", 160, 640}};

using Maker = std::unique_ptr<Strategy> (*)(const StrategySetup&);
constexpr std::array<std::pair<std::string_view, Maker>, 3> kStrategies{
    {{"exhaustive", make_exhaustive}, {"random", make_random}, {"guided", make_guided}}};

bool better(const Point& x, const Point& y) { return x.predicted_us < y.predicted_us; }

}  // namespace

std::string key_of(const Point& point) { return fmt::format("{} {}", point.family->name(), point.config.text()); }

Spaces::Spaces(std::vector<const Family*> families, const Problem& problem, const DeviceSpec& device,
               const Restriction& restriction)
    : families_(std::move(families)), problem_(problem), device_(device), restriction_(restriction) {
  for (const Family* family : families_) spaces_.emplace_back(*family, problem_, device_, restriction);
}

double Spaces::predict_us(const Family& family, const Config& config) const {
  const LaunchPlan plan = family.plan(problem_, config, device_);
  return predict(problem_, plan, device_, plan.work.registers).time_us;
}

std::vector<Point> Spaces::best_of(const Family& family, const SearchSpace& space, std::size_t limit) const {
  // A heap of the best, worst on top, so that millions of configurations need not be kept.
  std::vector<Point> best;
  space.for_each([&](const Config& config) {
    const double time = predict_us(family, config);
    if (best.size() == limit) {
      if (time >= best.front().predicted_us) return true;
      std::pop_heap(best.begin(), best.end(), better);
      best.pop_back();
    }
    best.push_back({&family, config, time});
    std::push_heap(best.begin(), best.end(), better);
    return true;
  });
  return best;
}

std::vector<Point> Spaces::ranked(std::size_t limit) const {
  // One part for each value of a family's first parameter, looked through side by side; their order is fixed, so that
  // the ranking does not depend on which thread was faster.
  std::vector<std::future<std::vector<Point>>> parts;
  for (const Family* family : families_) {
    const ParamInfo first = family->params().front();
    const auto allowed = restriction_.find(first.name);
    for (const int value : first.values) {
      if (allowed != restriction_.end() && std::count(allowed->second.begin(), allowed->second.end(), value) == 0)
        continue;
      Restriction part = restriction_;
      part[std::string(first.name)] = {value};
      parts.push_back(std::async(std::launch::async, [this, family, limit, part = std::move(part)] {
        return best_of(*family, SearchSpace(*family, problem_, device_, part), limit);
      }));
    }
  }
  std::vector<Point> all;
  for (auto& part : parts) {
    std::vector<Point> points = part.get();
    std::move(points.begin(), points.end(), std::back_inserter(all));
  }
  std::stable_sort(all.begin(), all.end(), better);
  if (all.size() > limit) all.resize(limit);
  return all;
}

std::vector<Point> Spaces::neighbours(const Point& point) const {
  std::vector<Point> points;
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (families_[i] != point.family) continue;
    for (Config& config : spaces_[i].neighbours(point.config)) {
      const double time = predict_us(*point.family, config);
      points.push_back({point.family, std::move(config), time});
    }
  }
  return points;
}

bool Spaces::contains(const Point& point) const {
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (families_[i] == point.family) return spaces_[i].contains(point.config);
  }
  return false;
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
