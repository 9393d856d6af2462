// Configurations drawn at random from whatever a family's table has, so that new parameters are tested by themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "templates/family/family.h"

namespace mmtune::test {

/// Draws configurations that can run; together they soon have every value of every parameter.
class Sampler {
 public:
  using Accepts = std::function<bool(const Problem&, const Config&)>;

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

  /// A few that show all values that were not shown before, as far as `accepts` allows, each with a problem that it is
  /// accepted for. Each shows as many as luck allows.
  std::vector<std::pair<Problem, Config>> cover(const std::vector<Problem>& problems, const Accepts& accepts) {
    std::vector<std::pair<Problem, Config>> drawn;
    for (std::size_t position = 0; position < params_.size(); ++position) {
      for (const int value : params_[position].values) {
        if (shown_.contains({std::string(params_[position].name), value})) continue;
        auto best = most_telling(position, value, problems, accepts);
        if (!best) continue;
        show(best->second);
        drawn.push_back(*std::move(best));
      }
    }
    return drawn;
  }

  /// Notes that it is drawn elsewhere. Whether one of its values is shown for the first time.
  bool show(const Config& config) {
    bool is_new = false;
    for (const Setting& setting : config.settings()) is_new |= shown_.emplace(setting.name, setting.value).second;
    return is_new;
  }

  /// "BM=256 TN=16": the values of the table that nothing has shown.
  std::string not_shown() const {
    std::vector<Setting> missing;
    for (const ParamInfo& param : params_) {
      for (const int value : param.values) {
        if (!shown_.contains({std::string(param.name), value})) missing.push_back({std::string(param.name), value});
      }
    }
    return Config(std::move(missing)).text();
  }

 private:
  Config any() {
    std::vector<Setting> settings;
    for (const ParamInfo& param : params_) {
      settings.push_back({std::string(param.name), param.values[random_() % param.values.size()]});
    }
    return Config(std::move(settings));
  }

  /// The one of many configurations with this value that shows most for the first time.
  std::optional<std::pair<Problem, Config>> most_telling(std::size_t position, int value,
                                                         const std::vector<Problem>& problems, const Accepts& accepts) {
    constexpr int kDraws = 1000;
    std::optional<std::pair<Problem, Config>> best;
    std::ptrdiff_t most = 0;
    for (int i = 0; i < kDraws; ++i) {
      Config config = any();
      config.set(position, value);
      const Problem& problem = problems[random_() % problems.size()];
      const auto news = std::count_if(config.settings().begin(), config.settings().end(), [this](const Setting& each) {
        return !shown_.contains({each.name, each.value});
      });
      if (news <= most || !accepts(problem, config)) continue;
      most = news;
      best = {problem, std::move(config)};
    }
    return best;
  }

  const Family& family_;
  const DeviceSpec& device_;
  std::span<const ParamInfo> params_;
  std::mt19937_64 random_;
  std::set<std::pair<std::string, int>> shown_;
};

}  // namespace mmtune::test
