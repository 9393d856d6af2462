#include "templates/base/config.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <optional>

#include "templates/base/letters.h"
#include "templates/base/parsed_number.h"

namespace mmtune {
namespace {

constexpr std::string_view kSpace = " \t\n";

/// Letters, digits and '_': what can be the name of a constant, and be printed as it is.
bool is_name(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_of_name); }

struct SettingText {
  std::string_view name;
  std::string_view value;
};

/// Nothing of what is not NAME=VALUE.
std::optional<SettingText> split_setting(std::string_view token) {
  const std::size_t equals = token.find('=');
  if (equals == std::string_view::npos || !is_name(token.substr(0, equals))) return std::nullopt;
  return SettingText{token.substr(0, equals), token.substr(equals + 1)};
}

}  // namespace

std::vector<WrittenSetting> split_settings(std::string_view text) {
  std::vector<WrittenSetting> settings;
  std::size_t begin = text.find_first_not_of(kSpace);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    const std::string_view token = text.substr(begin, end - begin);
    const auto setting = split_setting(token);
    if (!setting) {
      throw UsageError(fmt::format("configuration: '{}' is not NAME=VALUE; write it like BM=128", token));
    }
    if (std::any_of(settings.begin(), settings.end(), [&](const auto& other) { return other.name == setting->name; })) {
      throw UsageError(fmt::format("configuration: '{}' is given twice; keep one of them", setting->name));
    }
    settings.push_back({std::string(setting->name), std::string(setting->value)});
    begin = text.find_first_not_of(kSpace, end);
  }
  return settings;
}

Config Config::parse(std::string_view text) {
  Config config;
  for (WrittenSetting& written : split_settings(text)) {
    const auto value = parsed_number<int>(written.value);
    if (!value) {
      throw UsageError(
          fmt::format("configuration: '{0}={1}' has the value '{1}', which is no integer; write it like "
                      "BM=128",
                      written.name, written.value));
    }
    config.settings_.push_back({std::move(written.name), *value});
  }
  return config;
}

const int* Config::find(std::string_view name) const {
  for (const Setting& setting : settings_) {
    if (setting.name == name) return &setting.value;
  }
  return nullptr;
}

const int* Config::find(std::string_view name, std::size_t position) const {
  if (position < settings_.size() && settings_[position].name == name) return &settings_[position].value;
  return find(name);
}

std::string Config::text() const {
  std::string text;
  for (const Setting& setting : settings_) {
    if (!text.empty()) text += ' ';
    text.append(setting.name).append(1, '=').append(std::to_string(setting.value));
  }
  return text;
}

// This makes no text of each setting, since every row that is read or written is asked.
bool Config::is_text(std::string_view text) {
  if (text.empty()) return true;
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto setting = split_setting(text.substr(0, end));
    if (!setting || std::find(names.begin(), names.end(), setting->name) != names.end()) return false;
    const auto value = parsed_number<int>(setting->value);
    if (!value || fmt::format_int(*value).str() != setting->value) return false;
    if (end == text.size()) return true;
    names.push_back(setting->name);
    text.remove_prefix(end + 1);
  }
}

}  // namespace mmtune
