#include "templates/space.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>

namespace mmtune {

Restriction parse_restriction(std::string_view text) {
  Restriction restriction;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    std::istringstream values(equals == std::string::npos ? "" : word.substr(equals + 1));
    std::vector<int>& allowed = restriction[word.substr(0, equals)];
    for (std::string value; std::getline(values, value, ',');) {
      int number = 0;
      const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (fault != std::errc() || end != value.data() + value.size()) {
        allowed.clear();
        break;
      }
      allowed.push_back(number);
    }
    if (allowed.empty()) {
      throw UsageError(fmt::format("restriction '{}': write NAME=VALUE or NAME=VALUE,VALUE with whole numbers", word));
    }
  }
  return restriction;
}

SearchSpace::SearchSpace(const Family& family, const Problem& problem, const DeviceSpec& device,
                         const Restriction& restriction)
    : family_(family), problem_(problem), device_(device), params_(family.params()) {
  for (ParamInfo& param : params_) {
    const auto allowed = restriction.find(param.name);
    if (allowed == restriction.end()) continue;
    std::erase_if(param.values, [&](int value) {
      return std::find(allowed->second.begin(), allowed->second.end(), value) == allowed->second.end();
    });
  }
}

std::int64_t SearchSpace::size() const {
  std::int64_t product = 1;
  for (const ParamInfo& param : params_) product *= static_cast<std::int64_t>(param.values.size());
  return product;
}

void SearchSpace::for_each_point(const std::function<bool(const Config&, const Rules&)>& visit) const {
  if (size() == 0) return;
  Config config = first();
  std::vector<std::size_t> digits(params_.size(), 0);
  std::size_t position = 0;
  do {
    if (!visit(config, family_.judge(problem_, config, device_))) return;
    // The next point, counting like an odometer: the last parameter turns fastest. One configuration is changed in
    // place, so that a million points cost no allocation here.
    for (position = params_.size(); position > 0; --position) {
      const std::vector<int>& values = params_[position - 1].values;
      std::size_t& digit = digits[position - 1];
      digit = (digit + 1) % values.size();
      config.set(position - 1, values[digit]);
      if (digit != 0) break;
    }
  } while (position > 0);
}

void SearchSpace::for_each(const std::function<bool(const Config&)>& visit) const {
  for_each_point([&](const Config& config, const Rules& rules) { return !rules.searched() || visit(config); });
}

std::vector<Config> SearchSpace::all() const {
  std::vector<Config> configs;
  for_each([&](const Config& config) {
    configs.push_back(config);
    return true;
  });
  return configs;
}

SpaceCount SearchSpace::count() const {
  SpaceCount count;
  for_each_point([&](const Config&, const Rules& rules) {
    ++count.total;
    if (rules.searched()) {
      ++count.searched;
    } else {
      ++(rules.ok() ? count.not_worth[rules.not_worth()] : count.removed[rules.broken()]);
    }
    return true;
  });
  return count;
}

std::vector<Config> SearchSpace::neighbours(const Config& config) const {
  std::vector<Config> found;
  Config candidate = config;
  const auto keep_if_searched = [&](std::size_t position, int value) {
    candidate.set(position, value);
    if (family_.judge(problem_, candidate, device_).searched()) found.push_back(candidate);
  };
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const std::vector<int>& values = params_[i].values;
    const int current = config.settings().at(i).value;
    const auto here = std::lower_bound(values.begin(), values.end(), current);
    const auto above = here != values.end() && *here == current ? here + 1 : here;
    if (here != values.begin()) keep_if_searched(i, *(here - 1));
    if (above != values.end()) keep_if_searched(i, *above);
    candidate.set(i, current);
  }
  return found;
}

bool SearchSpace::contains(const Config& config) const {
  const std::vector<Setting>& settings = config.settings();
  const auto matches = [](const Setting& setting, const ParamInfo& param) {
    return setting.name == param.name && std::binary_search(param.values.begin(), param.values.end(), setting.value);
  };
  return std::equal(settings.begin(), settings.end(), params_.begin(), params_.end(), matches) &&
         family_.judge(problem_, config, device_).searched();
}

Config SearchSpace::first() const {
  std::vector<Setting> settings;
  for (const ParamInfo& param : params_) settings.push_back({std::string(param.name), param.values.front()});
  return Config(std::move(settings));
}

}  // namespace mmtune
