// Configurations drawn at random from whatever a family's table has, so that new parameters are tested by themselves.
#pragma once

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "templates/family.h"

namespace mmtune::test {

/// Draws configurations that can run; together they soon have every value of every parameter.
class Sampler {
 public:
  Sampler(const Family& family, const DeviceSpec& device, std::uint64_t seed)
      : family_(family), device_(device), params_(family.params()), random_(seed) {}

  /// `count` of them, as far as there are so many, the default among them, and those that show a value for the first
  /// time. None twice.
  std::vector<Config> draw(const Problem& problem, int count) {
    constexpr int kDraws = 20000;
    std::vector<Config> drawn;
    std::set<std::string> known;
    const auto take = [&](const Config& config) {
      if (!family_.broken_rule(problem, config, device_).empty() || known.contains(config.text())) return;
      const bool is_new = show(config);
      if (static_cast<int>(drawn.size()) >= count && !is_new) return;
      known.insert(config.text());
      drawn.push_back(config);
    };
    take(family_.default_config(problem));
    for (int i = 0; i < kDraws; ++i) take(any());
    return drawn;
  }

 private:
  Config any() {
    std::vector<Setting> settings;
    for (const ParamInfo& param : params_) {
      settings.push_back({std::string(param.name), param.values[random_() % param.values.size()]});
    }
    return Config(std::move(settings));
  }

  /// Whether one of its values is shown for the first time.
  bool show(const Config& config) {
    bool is_new = false;
    for (const Setting& setting : config.settings()) is_new |= shown_.emplace(setting.name, setting.value).second;
    return is_new;
  }

  const Family& family_;
  const DeviceSpec& device_;
  std::vector<ParamInfo> params_;
  std::mt19937_64 random_;
  std::set<std::pair<std::string, int>> shown_;
};

}  // namespace mmtune::test
