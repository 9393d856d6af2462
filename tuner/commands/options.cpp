#include "tuner/commands/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "runtime/env.h"
#include "runtime/log.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

template <class T>
using Choices = std::vector<std::pair<std::string_view, T>>;

template <class T>
T choose(std::string_view option, std::string_view text, const Choices<T>& choices) {
  std::string known;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    known += known.empty() ? std::string(name) : fmt::format(", {}", name);
  }
  throw UsageError(fmt::format("{} '{}': unknown; write one of {}", option, excerpt(text), known));
}

/// A comma-separated list of names, or "all".
template <class T>
std::vector<T> choose_list(std::string_view option, std::string_view text, Choices<T> choices) {
  std::vector<T> values;
  if (text == "all") {
    for (const auto& choice : choices) values.push_back(choice.second);
    return values;
  }
  for (const auto name : split(text, ',')) {
    const T value = choose(option, name, choices);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

template <class All>
auto choices_of(const All& all) {
  Choices<typename All::value_type> choices;
  for (const auto value : all) choices.emplace_back(to_string(value), value);
  return choices;
}

template <class T>
std::string names_of(const std::vector<T>& values) {
  std::string names;
  for (const auto value : values) names += fmt::format("{}{}", names.empty() ? "" : ",", to_string(value));
  return names.empty() ? "all" : names;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `initial` is only for the help page.
void add_text_option(CLI::App& verb, const std::string& name, const std::string& help, const std::string& type,
                     const std::string& initial, const std::function<void(const std::string&)>& take) {
  verb.add_option_function<std::string>(name, take, help)->type_name(type)->default_str(initial);
}

}  // namespace

void add_device_option(CLI::App& verb, Options& options) {
  verb.add_option("--device", options.device, "auto, the number of a GPU, or model:NAME (see mmtune devices)")
      ->type_name("DEVICE")
      ->capture_default_str();
}

void add_database_option(CLI::App& verb, Options& options) {
  verb.add_option("--db", options.database, "database file (default: MMTUNE_DB, else in the XDG data directory)")
      ->type_name("FILE");
}

void add_problem_options(CLI::App& verb, Options& options) {
  add_text_option(verb, "--precision", "fp32, fp64, int32, fp16, bf16, a list of them, or all", "LIST",
                  names_of(options.precisions),
                  [&options](const std::string& text) { options.precisions = parse_precisions(text); });
  add_text_option(verb, "--layout", "nn, nt, tn, tt (n: as stored, t: transposed), a list of them, or all", "LIST",
                  names_of(options.layouts),
                  [&options](const std::string& text) { options.layouts = parse_layouts(text); });
}

void add_restriction_option(CLI::App& verb, Restriction& restriction) {
  verb.add_option_function<std::string>(
          "--only", [&restriction](const std::string& text) { restriction = parse_restriction(text); },
          "only these values: \"BM=128,256 TM=16\"")
      ->type_name("SETTINGS");
}

void check_restriction(const Restriction& restriction, const std::vector<const Family*>& families) {
  for (const auto& [name, values] : restriction) {
    std::set<int> allowed;
    for (const auto* family : families) {
      for (const auto& param : family->params()) {
        if (param.name == name) allowed.insert(param.values.begin(), param.values.end());
      }
    }
    if (allowed.empty()) {
      throw UsageError(fmt::format("--only '{}': no searched family has this parameter; see `mmtune space`", name));
    }
    for (const int value : values) {
      if (!allowed.contains(value)) {
        throw UsageError(fmt::format("--only '{}={}': choose among {}", name, value, fmt::join(allowed, ", ")));
      }
    }
  }
}

void add_output_options(CLI::App& verb, Options& options) {
  add_text_option(verb, "--format", "table, csv, json or md", "FORMAT", "table", [&options](const std::string& text) {
    options.format = choose<Format>(
        "--format", text, {{"table", Format::table}, {"csv", Format::csv}, {"json", Format::json}, {"md", Format::md}});
  });
  add_text_option(verb, "--color", "auto, always or never", "WHEN", "auto", [&options](const std::string& text) {
    options.color = choose<ColorMode>(
        "--color", text, {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}});
  });
}

void add_log_options(CLI::App& verb) {
  verb.add_flag_function(
      "-v,--verbose", [](std::int64_t count) { log::set_level(count > 1 ? log::Level::debug : log::Level::info); },
      "say more on stderr; twice: everything");
  verb.add_flag_callback(
      "-q,--quiet", [] { log::set_level(log::Level::error); }, "errors only on stderr");
}

std::string database_path(const Options& options) {
  return options.database.empty() ? env::default_database() : options.database;
}

std::vector<Precision> parse_precisions(std::string_view text) {
  return choose_list("--precision", text, choices_of(kAllPrecisions));
}

std::vector<Layout> parse_layouts(std::string_view text) {
  return choose_list("--layout", text, choices_of(kAllLayouts));
}

std::vector<std::uint64_t> parse_seeds(std::string_view text) {
  constexpr std::size_t kMost = 1000;
  std::vector<std::uint64_t> seeds;
  for (const auto item : split(text, ',')) {
    const auto dots = item.find("..");
    const auto first = parse_number(item.substr(0, dots));
    const auto last = dots == item.npos ? first : parse_number(item.substr(dots + 2));
    if (!first || !last || *last < *first || *last - *first >= kMost - seeds.size()) {
      throw UsageError(fmt::format("--seeds '{}': write numbers, or a range such as 1..5; at most {} of them",
                                   excerpt(item), kMost));
    }
    for (std::uint64_t i = 0; i <= *last - *first; ++i) seeds.push_back(*first + i);
  }
  return seeds;
}

double parse_duration_s(std::string_view text) {
  constexpr double kLongest_s = 1e9;  // 30 years: in nanoseconds it fits a clock
  double value = 0;
  const auto* last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), last, value);
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  const double seconds = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  // Written so that not-a-number is refused too.
  if (failure != std::errc{} || !(value * seconds > 0 && value * seconds <= kLongest_s)) {
    throw UsageError(
        fmt::format("duration '{}': write a positive number with s, m or h, for example 60s", excerpt(text)));
  }
  return value * seconds;
}

}  // namespace mmtune
