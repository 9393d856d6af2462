#include "tuner/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <utility>

#include "templates/cost.h"

namespace mmtune {

namespace {

constexpr std::array kEfforts{Effort{"quick", 12, 24}, Effort{"default", 48, 160}, Effort{"full", 160, 640}};

using Maker = std::unique_ptr<Strategy> (*)(const StrategySetup&);
constexpr std::array<std::pair<std::string_view, Maker>, 3> kStrategies{
    {{"exhaustive", make_exhaustive}, {"random", make_random}, {"guided", make_guided}}};

}  // namespace

std::string key_of(const Point& point) { return fmt::format("{} {}", point.family->name(), point.config.text()); }

Spaces::Spaces(std::vector<const Family*> families, const Problem& problem, const DeviceSpec& device,
               const Restriction& restriction)
    : families_(std::move(families)), problem_(problem), device_(device) {
  for (const Family* family : families_) spaces_.emplace_back(*family, problem_, device_, restriction);
}

double Spaces::predict_us(const Family& family, const Config& config) const {
  const LaunchPlan plan = family.plan(problem_, config, device_);
  return predict(problem_, plan, device_, plan.work.registers).time_us;
}

std::vector<Point> Spaces::ranked(std::size_t limit) const {
  // A heap of the best, worst on top, so that millions of configurations need not be kept.
  const auto better = [](const Point& x, const Point& y) { return x.predicted_us < y.predicted_us; };
  std::vector<Point> best;
  for (std::size_t i = 0; i < families_.size(); ++i) {
    spaces_[i].for_each([&](const Config& config) {
      const double time = predict_us(*families_[i], config);
      if (best.size() == limit) {
        if (time >= best.front().predicted_us) return true;
        std::pop_heap(best.begin(), best.end(), better);
        best.pop_back();
      }
      best.push_back({families_[i], config, time});
      std::push_heap(best.begin(), best.end(), better);
      return true;
    });
  }
  std::stable_sort(best.begin(), best.end(), better);
  return best;
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
