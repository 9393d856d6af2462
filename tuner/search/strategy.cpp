#include "tuner/search/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <array>
#include <utility>

namespace mmtune {
namespace {

constexpr std::array kEfforts{Effort{"quick", 24}, Effort{"default", 170}, Effort{"full", 640}};

using Maker = std::unique_ptr<Strategy> (*)(const StrategySetup&);
constexpr std::array<std::pair<std::string_view, Maker>, 4> kStrategies{
    {{"exhaustive", make_exhaustive}, {"random", make_random}, {"guided", make_guided}, {"ranked", make_ranked}}};

}  // namespace

const Effort& effort_named(std::string_view name) {
  for (const Effort& effort : kEfforts) {
    if (effort.name == name) return effort;
  }
  throw UsageError(fmt::format("effort '{}': unknown, use one of {}", name, fmt::join(effort_names(), ", ")));
}

const std::vector<std::string_view>& effort_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Effort& effort : kEfforts) list.push_back(effort.name);
    return list;
  }();
  return names;
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
