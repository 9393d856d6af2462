// What people write becomes a configuration: values by their names, and those that are missing.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <deque>
#include <set>

#include "templates/base/names.h"
#include "templates/base/parsed_number.h"
#include "templates/family/family.h"

namespace mmtune {

std::optional<int> ParamInfo::value_of(std::string_view text) const {
  const auto named = std::find(names.begin(), names.end(), text);
  if (named != names.end()) return values[static_cast<std::size_t>(named - names.begin())];
  const auto number = parsed_number<int>(text);
  return number && std::binary_search(values.begin(), values.end(), *number) ? number : std::nullopt;
}

std::string_view ParamInfo::name_of(int value) const {
  const auto found = std::lower_bound(values.begin(), values.end(), value);
  if (names.empty() || found == values.end() || *found != value) return "";
  return names[static_cast<std::size_t>(found - values.begin())];
}

std::string ParamInfo::choices() const {
  std::vector<std::string> texts;
  for (const int value : values) {
    texts.push_back(names.empty() ? fmt::format("{}", value) : fmt::format("{} {}", value, name_of(value)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

namespace {

const ParamInfo& param_named(const Family& family, std::string_view name) {
  std::vector<std::string_view> names;
  for (const ParamInfo& param : family.params()) {
    if (param.name == name) return param;
    names.push_back(param.name);
  }
  throw UsageError(fmt::format("{}: parameter '{}' is unknown; {}", family.name(), name,
                               names.empty() ? "the family has none" : known_names(name, names)));
}

UsageError not_allowed(const Family& family, const ParamInfo& param, std::string_view value) {
  return UsageError(
      fmt::format("{}: {}={} is not allowed; choose one of {}", family.name(), param.name, value, param.choices()));
}

/// The values of a table before and after one of them, as far as there are such.
std::vector<int> beside(const std::vector<int>& values, int value) {
  const auto here = std::lower_bound(values.begin(), values.end(), value);
  std::vector<int> found;
  if (here != values.begin()) found.push_back(*std::prev(here));
  if (here != values.end() && std::next(here) != values.end()) found.push_back(*std::next(here));
  return found;
}

std::vector<int> values_of(const Config& config) {
  std::vector<int> values;
  for (const Setting& setting : config.settings()) values.push_back(setting.value);
  return values;
}

/// The nearest configuration that can run, from `start` outwards. One that can must differ from one that cannot in a
/// parameter that was read before a rule broke, so that steps of the other parameters need not be looked at.
std::optional<Config> nearest_that_runs(const Family& family, const Problem& problem, const DeviceSpec& device,
                                        const Config& given, const Config& start) {
  constexpr std::size_t kMost = 20'000;  // the most completions, which takes a tenth of a second
  const auto params = family.params();
  std::deque<Config> waiting{start};
  std::set<std::vector<int>> reached{values_of(start)};
  for (; !waiting.empty() && reached.size() < kMost; waiting.pop_front()) {
    const Config& config = waiting.front();
    const std::vector<int> values = values_of(config);
    Reads reads;
    if (family.broken_rule(problem, values, device, reads).empty()) return config;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (!reads.contains(i) || given.find(params[i].name) != nullptr) continue;
      for (const int value : beside(params[i].values, values[i])) {
        Config next = config;
        next.set(i, value);
        if (reached.insert(values_of(next)).second) waiting.push_back(std::move(next));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Config Family::parse(std::string_view text) const {
  std::vector<Setting> settings;
  for (WrittenSetting& written : split_settings(text)) {
    const ParamInfo& param = param_named(*this, written.name);
    const auto value = param.value_of(written.value);
    if (!value) throw not_allowed(*this, param, written.value);
    settings.push_back({std::move(written.name), *value});
  }
  return Config(std::move(settings));
}

Config Family::with_defaults(const Config& given, const Problem& problem) const {
  Config config = default_config(problem);
  for (const Setting& setting : given.settings()) {
    const ParamInfo& param = param_named(*this, setting.name);
    if (!std::binary_search(param.values.begin(), param.values.end(), setting.value)) {
      throw not_allowed(*this, param, std::to_string(setting.value));
    }
    config.set(static_cast<std::size_t>(&param - params().data()), setting.value);
  }
  return config;
}

Config Family::complete(const Config& given, const Problem& problem, const DeviceSpec& device) const {
  Config start = with_defaults(given, problem);
  if (given.settings().empty() || given.settings().size() == start.settings().size()) return start;
  if (auto nearest = nearest_that_runs(*this, problem, device, given, start)) return *std::move(nearest);
  throw UsageError(fmt::format("{} {}: no values of the other parameters go with it on {}; with their defaults, {}",
                               name(), given.text(), device.name, explain(*this, problem, start, device)));
}

}  // namespace mmtune
