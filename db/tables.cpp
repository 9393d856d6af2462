#include "db/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "templates/base/parsed_number.h"

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

constexpr std::uint64_t kLargestValue = std::numeric_limits<int>::max();

/// The bytes of a number, as settings_bytes() says.
void add_number(std::string& bytes, std::uint64_t number) {
  constexpr int kBits = 7;
  int shift = 0;
  while (number >> (shift + kBits) != 0) shift += kBits;
  for (; shift > 0; shift -= kBits) bytes += static_cast<char>(0x80 | (number >> shift & 0x7f));
  bytes += static_cast<char>(number & 0x7f);
}

}  // namespace

std::optional<std::string> settings_bytes(std::string_view settings) {
  std::string bytes;
  for (std::string_view rest = settings; !rest.empty();) {
    const std::string_view word = take_word(rest);
    const auto number = parsed_number<std::uint64_t>(word);
    if (!number || *number > kLargestValue) return std::nullopt;
    add_number(bytes, *number);
  }
  if (settings_text(bytes) != settings) return std::nullopt;  // a leading zero, a second blank, or nothing at all
  return bytes;
}

std::optional<std::string> settings_text(std::string_view bytes) {
  constexpr char kLeadingZero = '\x80';
  std::string text;
  std::uint64_t number = 0;
  bool is_inside = false;
  for (const char byte : bytes) {
    if (!is_inside && byte == kLeadingZero) return std::nullopt;
    number = number << 7 | (static_cast<unsigned char>(byte) & 0x7f);
    if (number > kLargestValue) return std::nullopt;
    is_inside = (static_cast<unsigned char>(byte) & 0x80) != 0;
    if (is_inside) continue;
    add_word(text, fmt::format_int(number).c_str());
    number = 0;
  }
  if (is_inside || text.empty()) return std::nullopt;
  return text;
}

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
