// A configuration: values for a family's parameters, in the order of its table, with one text form for log lines,
// databases and --config arguments: "BM=128 BN=64 BK=16".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mmtune {

/// One name and its value. Values are plain integers: a database row can never carry source or flags.
struct Setting {
  std::string name;
  int value = 0;

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// The same as it is written, by people also with the name of a value: LOAD=TMA.
struct WrittenSetting {
  std::string name;
  std::string value;
};

/// Splits "NAME=VALUE NAME=VALUE …". Throws UsageError naming the offending token: not NAME=VALUE, a name given twice.
std::vector<WrittenSetting> split_settings(std::string_view text);

/// An ordered list of settings. It says nothing about which family it belongs to or whether that accepts it
/// (Family::complete does).
class Config {
 public:
  Config() = default;
  explicit Config(std::vector<Setting> settings) : settings_(std::move(settings)) {}

  /// Parses text(). Throws UsageError as split_settings does, and for a value that is no int. What people write may
  /// have names of values too: Family::parse.
  static Config parse(std::string_view text);

  const std::vector<Setting>& settings() const { return settings_; }

  /// The value of a setting, or null.
  const int* find(std::string_view name) const;

  /// The same where the setting is expected at this position: one comparison if it is there.
  const int* find(std::string_view name, std::size_t position) const;

  /// Changes the value of the setting at a position, which must exist; for enumerations that allocate nothing.
  void set(std::size_t position, int value) { settings_[position].value = value; }

  std::string text() const;

  /// Whether this is what text() says of some configuration.
  static bool is_text(std::string_view text);

  friend bool operator==(const Config&, const Config&) = default;

 private:
  std::vector<Setting> settings_;
};

}  // namespace mmtune
