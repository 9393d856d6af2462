#include "db/tables.h"

#include <algorithm>
#include <utility>

namespace mmtune {

namespace {

/// Cuts the first word off a text of words with one blank between them.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

void add_word(std::string& text, std::string_view word) {
  if (!text.empty()) text += ' ';
  text += word;
}

}  // namespace

/// No text of a configuration where there are more of the ones than of the others.
std::string KernelRow::config() const {
  std::string config;
  std::string_view names = family.parameters;
  std::string_view values = settings;
  while (!names.empty() || !values.empty()) {
    add_word(config, take_word(names));
    config.append(1, '=').append(take_word(values));
  }
  return config;
}

std::string_view KernelRow::contradiction() const { return rule::config(config()); }

KernelRow kernel_row(std::string family, std::string_view config, std::string source_hash) {
  KernelRow row{{std::move(family), {}}, {}, std::move(source_hash)};
  while (!config.empty()) {
    const std::string_view setting = take_word(config);
    const std::size_t equals = std::min(setting.find('='), setting.size());
    add_word(row.family.parameters, setting.substr(0, equals));
    add_word(row.settings, setting.substr(std::min(setting.size(), equals + 1)));
  }
  return row;
}

TrialKeyRow::TrialKeyRow(const TrialKey& key)
    : device(key.device), problem(key.problem), kernel(kernel_row(key)), evidence(key.evidence) {}

Suspect SuspectRow::value() && {
  std::string config = kernel.config();
  return {std::move(device),
          std::move(driver),
          std::move(kernel.family.family_name),
          std::move(config),
          std::move(kernel.source_hash),
          kills,
          std::move(last)};
}

TrialKey TrialKeyRow::value() && {
  std::string config = kernel.config();
  return {std::move(device),
          problem,
          std::move(kernel.family.family_name),
          std::move(config),
          std::move(kernel.source_hash),
          evidence};
}

}  // namespace mmtune
