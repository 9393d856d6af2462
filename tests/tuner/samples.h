// Configurations drawn at random from whatever a family's table has, so that new parameters are tested by themselves.
#pragma once

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
    Config config = first_values();
    for (int i = 0; i < kDraws; ++i) {
      change(config);
      take(config);
    }
    return drawn;
  }

  /// A few that show all values that were not shown before, as far as `accepts` allows, each with a problem that it is
  /// accepted for. Each shows as many as luck allows.
  std::vector<std::pair<Problem, Config>> cover(const std::vector<Problem>& problems, const Accepts& accepts) {
    std::vector<std::pair<Problem, Config>> drawn;
    for (std::size_t position = 0; position < params_.size(); ++position) {
      for (const int value : params_[position].values) {
        if (shown_.contains({position, value})) continue;
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
    for (std::size_t position = 0; position < params_.size(); ++position) {
      is_new |= shown_.emplace(position, value_at(config, position)).second;
    }
    return is_new;
  }

  /// "BM=256 TN=16": the values of the table that nothing has shown.
  std::string not_shown() const {
    std::vector<Setting> missing;
    for (std::size_t position = 0; position < params_.size(); ++position) {
      const ParamInfo& param = params_[position];
      for (const int value : param.values) {
        if (!shown_.contains({position, value})) missing.push_back({std::string(param.name), value});
      }
    }
    return Config(std::move(missing)).text();
  }

 private:
  /// A configuration to change, which allocates nothing.
  Config first_values() const {
    std::vector<Setting> settings;
    for (const ParamInfo& param : params_) settings.push_back({std::string(param.name), param.values[0]});
    return Config(std::move(settings));
  }

  void change(Config& config) {
    for (std::size_t position = 0; position < params_.size(); ++position) {
      config.set(position, params_[position].values[random_() % params_[position].values.size()]);
    }
  }

  int value_at(const Config& config, std::size_t position) const {
    return *config.find(params_[position].name, position);
  }

  /// The one of many configurations with this value that shows most for the first time.
  std::optional<std::pair<Problem, Config>> most_telling(std::size_t position, int value,
                                                         const std::vector<Problem>& problems, const Accepts& accepts) {
    constexpr int kDraws = 1000;
    std::optional<std::pair<Problem, Config>> best;
    int most = 0;
    Config config = first_values();
    for (int i = 0; i < kDraws; ++i) {
      change(config);
      config.set(position, value);
      const Problem& problem = problems[random_() % problems.size()];
      int news = 0;
      for (std::size_t at = 0; at < params_.size(); ++at) news += shown_.contains({at, value_at(config, at)}) ? 0 : 1;
      if (news <= most || !accepts(problem, config)) continue;
      most = news;
      best = {problem, config};
    }
    return best;
  }

  const Family& family_;
  const DeviceSpec& device_;
  std::span<const ParamInfo> params_;
  std::mt19937_64 random_;
  std::set<std::pair<std::size_t, int>> shown_;  // positions of parameters and their values
};

}  // namespace mmtune::test
