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

template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& [name, what] : rows) names.emplace_back(name);
  return names;
}

}  // namespace

const Effort& effort_named(std::string_view name) {
  for (const Effort& effort : kEfforts) {
    if (effort.name == name) return effort;
  }
  throw UsageError(fmt::format("effort '{}': unknown, use one of {}", name, fmt::join(effort_names(), ", ")));
}

std::vector<std::string> effort_names() { return names_of(kEfforts); }

std::vector<std::string> strategy_names() { return names_of(kStrategies); }

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySetup& setup) {
  for (const auto& [known, make] : kStrategies) {
    if (known == name) return make(setup);
  }
  throw UsageError(fmt::format("strategy '{}': unknown, use one of {}", name, fmt::join(strategy_names(), ", ")));
}

}  // namespace mmtune
