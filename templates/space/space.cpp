#include "templates/space/space.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "templates/base/parsed_number.h"
#include "templates/family/families.h"
#include "templates/space/neighbours.h"

namespace mmtune {
namespace {

/// The number of a value that any family has a name for.
std::optional<int> named_value(std::string_view parameter, std::string_view value) {
  for (const Family* family : families()) {
    for (const ParamInfo& param : family->params()) {
      if (param.name != parameter) continue;
      if (const auto number = param.value_of(value)) return number;
    }
  }
  return std::nullopt;
}

}  // namespace

Restriction parse_restriction(std::string_view text) {
  Restriction restriction;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::istringstream values(equals == std::string::npos ? "" : word.substr(equals + 1));
    std::vector<int>& allowed = restriction[name];
    for (std::string value; std::getline(values, value, ',');) {
      const auto written = parsed_number<int>(value);
      const auto number = written ? written : named_value(name, value);
      if (!number) {
        allowed.clear();
        break;
      }
      allowed.push_back(*number);
    }
    if (allowed.empty() || name.empty()) {
      throw UsageError(fmt::format(
          "restriction '{}': write NAME=VALUE or NAME=VALUE,VALUE with whole numbers or names of values", word));
    }
  }
  return restriction;
}

SearchSpace::SearchSpace(const Family& family, const Problem& problem, const DeviceSpec& device,
                         const Restriction& restriction)
    : family_(family), problem_(problem), device_(device), strides_(family.params().size(), 1) {
  for (const ParamInfo& param : family.params()) {
    Axis& axis = params_.emplace_back(Axis{param.name, param.values});
    const auto allowed = restriction.find(param.name);
    if (allowed == restriction.end()) continue;
    std::erase_if(axis.values, [&](int value) {
      return std::find(allowed->second.begin(), allowed->second.end(), value) == allowed->second.end();
    });
  }
  for (std::size_t i = params_.size(); i-- > 1;) {
    strides_[i - 1] = strides_[i] * static_cast<std::int64_t>(params_[i].values.size());
  }
}

std::int64_t SearchSpace::size() const {
  return params_.empty() ? 1 : strides_.front() * static_cast<std::int64_t>(params_.front().values.size());
}

std::int64_t SearchSpace::number(const std::vector<std::size_t>& digits) const {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) number += static_cast<std::int64_t>(digits[i]) * strides_[i];
  return number;
}

Config SearchSpace::config(std::int64_t number) const {
  std::vector<Setting> settings;
  settings.reserve(params_.size());
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const auto digit = static_cast<std::size_t>(number / strides_[i]) % params_[i].values.size();
    settings.push_back({std::string(params_[i].name), params_[i].values[digit]});
  }
  return Config(std::move(settings));
}

std::vector<Config> SearchSpace::neighbours(const Config& config) const {
  std::vector<Config> found;
  const auto here = number(config);
  if (!here) return found;
  Digits digits;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < params_.size(); ++i) {
    sizes.push_back(params_[i].values.size());
    digits.push_back(static_cast<std::size_t>(*here / strides_[i]) % sizes.back());
  }
  const auto searched = [&](const Digits& each) {
    return family_.judge(problem_, this->config(number(each)), device_).searched();
  };
  for (const Digits& each : mmtune::neighbours(digits, sizes, searched)) found.push_back(this->config(number(each)));
  return found;
}

std::optional<std::int64_t> SearchSpace::number(const Config& config) const {
  const std::vector<Setting>& settings = config.settings();
  if (settings.size() != params_.size()) return std::nullopt;
  std::int64_t number = 0;
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const std::vector<int>& values = params_[i].values;
    const auto at = std::lower_bound(values.begin(), values.end(), settings[i].value);
    if (settings[i].name != params_[i].name || at == values.end() || *at != settings[i].value) return std::nullopt;
    number += (at - values.begin()) * strides_[i];
  }
  return number;
}

bool SearchSpace::contains(const Config& config) const {
  return number(config) && family_.judge(problem_, config, device_).searched();
}

}  // namespace mmtune
