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
      : family_(family), device_(device), params_(family.params()), random_(seed) {
    for (const ParamInfo& param : params_) shown_.emplace_back(param.values.size());
  }

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

  /// A configuration with a problem that it is accepted for.
  struct Drawn {
    Problem problem;
    Config config;
    std::vector<Config> alike = {};  ///< others of its program, which differ in what their launch says
  };

  /// A few that show all values that were not shown before, as far as `accepts` allows. Each shows as many as luck
  /// allows.
  std::vector<Drawn> cover(const std::vector<Problem>& problems, const Accepts& accepts) {
    std::vector<Drawn> drawn;
    for (std::size_t position = 0; position < params_.size(); ++position) {
      for (std::size_t i = 0; i < params_[position].values.size(); ++i) {
        if (shown_[position][i]) continue;
        auto best = most_telling(position, i, problems, accepts);
        if (!best) continue;
        show(best->config);
        add_alike(*best, accepts);
        drawn.push_back(*std::move(best));
      }
    }
    return drawn;
  }

  /// Notes that it is drawn elsewhere. Whether one of its values is shown for the first time.
  bool show(const Config& config) {
    bool is_new = false;
    for (std::size_t position = 0; position < params_.size(); ++position) {
      const auto& values = params_[position].values;
      const auto found = std::find(values.begin(), values.end(), *config.find(params_[position].name, position));
      auto shown = shown_[position].begin() + (found - values.begin());
      is_new |= !*shown;
      *shown = true;
    }
    return is_new;
  }

  /// "BM=256 TN=16": the values of the table that nothing has shown.
  std::string not_shown() const {
    std::vector<Setting> missing;
    for (std::size_t position = 0; position < params_.size(); ++position) {
      const ParamInfo& param = params_[position];
      for (std::size_t i = 0; i < param.values.size(); ++i) {
        if (!shown_[position][i]) missing.push_back({std::string(param.name), param.values[i]});
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

  /// The one of many configurations with this value, the `number`-th of its parameter, that shows most for the first
  /// time.
  std::optional<Drawn> most_telling(std::size_t position, std::size_t number, const std::vector<Problem>& problems,
                                    const Accepts& accepts) {
    constexpr int kDraws = 2000;
    std::optional<Drawn> best;
    int most = 0;
    Config config = first_values();
    std::vector<std::size_t> drawn(params_.size());
    for (int i = 0; i < kDraws; ++i) {
      for (std::size_t at = 0; at < params_.size(); ++at) drawn[at] = random_() % params_[at].values.size();
      drawn[position] = number;
      const Problem& problem = problems[random_() % problems.size()];
      int news = 0;
      for (std::size_t at = 0; at < params_.size(); ++at) news += shown_[at][drawn[at]] ? 0 : 1;
      if (news <= most) continue;
      for (std::size_t at = 0; at < params_.size(); ++at) config.set(at, params_[at].values[drawn[at]]);
      if (!accepts(problem, config)) continue;
      most = news;
      best = Drawn{problem, config};
    }
    return best;
  }

  /// Adds some with numbers of parts of k that were not shown, where those come with the launch.
  void add_alike(Drawn& drawn, const Accepts& accepts) {
    constexpr std::size_t kMost = 4;  // more configurations then share the numbers
    const auto splits = [&](const Config& config) {
      return splits_at_launch(family_.plan(drawn.problem, config, device_));
    };
    const auto split =
        std::find_if(params_.begin(), params_.end(), [](const auto& each) { return each.name == kSplit; });
    if (split == params_.end() || !splits(drawn.config)) return;
    const auto position = static_cast<std::size_t>(split - params_.begin());
    for (std::size_t i = 0; i < split->values.size() && drawn.alike.size() < kMost; ++i) {
      if (shown_[position][i]) continue;
      Config other = drawn.config;
      other.set(position, split->values[i]);
      if (!accepts(drawn.problem, other) || !splits(other)) continue;
      show(other);
      drawn.alike.push_back(std::move(other));
    }
  }

  const Family& family_;
  const DeviceSpec& device_;
  std::span<const ParamInfo> params_;
  std::mt19937_64 random_;
  std::vector<std::vector<bool>> shown_;  // by the positions of parameters and of their values
};

}  // namespace mmtune::test
