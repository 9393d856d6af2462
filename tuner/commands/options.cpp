#include "tuner/commands/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "templates/base/joined.h"
#include "templates/base/letters.h"
#include "templates/base/names.h"
#include "templates/base/parsed_number.h"
#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

template <class T>
using Choices = std::vector<std::pair<std::string_view, T>>;

/// Names that other programs have for a precision, and ours.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"float", "fp32"},       {"single", "fp32"},    {"float32", "fp32"},  {"double", "fp64"}, {"float64", "fp64"},
    {"half", "fp16"},        {"float16", "fp16"},   {"bfloat16", "bf16"}, {"int", "int32"},   {"fp8", "e4m3_bf16"},
    {"float8", "e4m3_bf16"}, {"e4m3", "e4m3_bf16"}, {"e5m2", "e5m2_bf16"}};

/// The value of this name, in any case of letters. Throws UsageError that says which one may be meant.
template <class T>
T choose(std::string_view option, std::string_view text, const Choices<T>& choices, bool may_be_all = false) {
  std::vector<std::string_view> known;
  for (const auto& [name, value] : choices) {
    if (equal_ignoring_case(name, text)) return value;
    known.push_back(name);
  }
  if (may_be_all) known.emplace_back("all");
  for (const auto& [other, ours] : kOtherNames) {
    const bool is_ours = std::find(known.begin(), known.end(), ours) != known.end();
    if (is_ours && equal_ignoring_case(other, text)) refuse_choice(option, text, known, ours);
  }
  refuse_choice(option, text, known, nearest_name(text, known));
}

/// A comma-separated list of names; "all" among them means all.
template <class T>
std::vector<T> choose_list(std::string_view option, std::string_view text, Choices<T> choices) {
  std::vector<T> values, all;
  for (const auto& choice : choices) all.push_back(choice.second);
  for (const auto name : split(text, ',')) {
    if (name == "all") return all;
    const T value = choose(option, name, choices, true);
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
  return values.empty() ? "all" : joined(values, ",", [](T value) { return to_string(value); });
}

/// The target of a list of names; `known` are all of them.
template <class T, class Parse>
Target list_target(std::vector<T>& target, Parse parse, std::vector<std::string> known) {
  Target list = parsed_target(target, parse, names_of(target));
  list.choices = std::move(known);
  return list;
}

template <class All>
std::vector<std::string> names_and_all(const All& all) {
  std::vector<std::string> names;
  for (const auto value : all) names.emplace_back(to_string(value));
  names.emplace_back("all");
  return names;
}

/// The target of one of a few values; the first is the default.
template <class T>
Target value_target(T& target, const Choices<T>& choices) {
  Target one;
  one.take = [&target, choices](std::string_view name, const std::string& text) {
    target = choose<T>(name, text, choices);
  };
  one.initial = choices.front().first;
  for (const auto& choice : choices) one.choices.emplace_back(choice.first);
  return one;
}

}  // namespace

Target family_target(std::string& family) {
  Target target = text_target(family);
  for (const Family* each : families()) target.offered.emplace_back(each->name());
  return target;
}

Option family_argument(std::string& family) {
  return required({"family", "FAMILY", "a kernel family", family_target(family)});
}

std::vector<Option> kernel_options(std::string& family, std::string& config, std::string meaning) {
  return {{"--family", "FAMILY", std::move(meaning), family_target(family)},
          only_with("--family",
                    {"--config", "CONFIG", "\"NAME=VALUE …\"; what is missing gets its default", text_target(config)})};
}

Option sizes_option(std::string& sizes) {
  return {.names = "--sizes,--size",
          .value = "SIZES",
          .help = "1024, 256..8192, a..b:step, a..b*factor, MxNxK, @file.csv; several with commas, or one by one",
          .target = list_target(sizes),
          .required = true,
          .repeatable = true};
}

Target device_target(std::string& device) {
  Target target = text_target(device);
  target.offered.emplace_back("auto");
  for (const CatalogEntry& entry : gpu_catalog()) target.offered.push_back(fmt::format("model:{}", entry.key));
  return target;
}

Option device_option(Options& options) {
  return {"--device", "DEVICE", "auto, the number of a GPU, or model:NAME (see mmtune devices)",
          device_target(options.device)};
}

Option wait_option(double& wait_s) {
  return {"--wait", "TIME", "longest wait for a GPU that another process measures on: 30s, 10m (default: no limit)",
          duration_target(wait_s)};
}

Option database_option(Options& options) {
  return {"--db", "FILE", "database file (default: MMTUNE_DB, else in the XDG data directory)",
          file_target(options.database)};
}

std::vector<Option> problem_options(Options& options) {
  return {{"--precision", "LIST", "precisions, separated by commas",
           list_target(options.precisions, parse_precisions, names_and_all(kAllPrecisions))},
          {"--layout", "LIST", "how A and B are stored, n: as multiplied, t: transposed; separated by commas",
           list_target(options.layouts, parse_layouts, names_and_all(kAllLayouts))}};
}

Option invariant_option(Options& options) {
  return flag_option("--invariant", "products whose rows have the same bits for every m, n, position and batch",
                     options.invariant);
}

Option restriction_option(Restriction& restriction) {
  return {"--only", "SETTINGS", "only these values: \"BM=128,256 LOAD=TMA\"",
          parsed_target(restriction, parse_restriction)};
}

void add_output_options(Verb& verb, Options& options) {
  verb.add("Output",
           {{"--format", "FORMAT", "the format of the table on stdout",
             value_target<Format>(
                 options.format,
                 {{"table", Format::table}, {"csv", Format::csv}, {"json", Format::json}, {"md", Format::md}})},
            {"--color", "WHEN", "colour the table",
             value_target<ColorMode>(
                 options.color,
                 {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}})},
            flag_option("--wide", "all columns and whole configurations, however wide the terminal is", options.wide)});
  add_log_options(verb);
}

void add_log_options(Verb& verb) {
  const auto more = [](std::string_view, const std::string&) {
    log::set_level(log::level() < log::Level::info ? log::Level::info : log::Level::debug);
  };
  const auto less = [](std::string_view, const std::string&) { log::set_level(log::Level::error); };
  verb.add("Output", {{.names = "-v,--verbose", .help = "say more on stderr; twice: everything", .target = {more}},
                      {.names = "-q,--quiet", .help = "errors only on stderr", .target = {less}}});
}

std::string database_path(const Options& options) {
  return options.database.empty() ? env::default_database() : options.database;
}

bool database_exists(const std::string& path) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (error) {
    throw DatabaseError(fmt::format("database {}: {}; check the path and its permissions", path, error.message()));
  }
  return exists;
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
      throw UsageError(fmt::format("--only '{}': no searched family has this parameter; see `mmtune families`", name));
    }
    for (const int value : values) {
      if (!allowed.contains(value)) {
        throw UsageError(fmt::format("--only '{}={}': choose among {}", name, value, fmt::join(allowed, ", ")));
      }
    }
  }
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
    const auto first = parsed_number<std::uint64_t>(item.substr(0, dots));
    const auto last = dots == item.npos ? first : parsed_number<std::uint64_t>(item.substr(dots + 2));
    if (!first || !last || *last < *first || *last - *first >= kMost - seeds.size()) {
      throw UsageError(fmt::format("--seeds '{}': write numbers, or a range such as 1..5; at most {} of them",
                                   excerpt(item), kMost));
    }
    for (std::uint64_t i = 0; i <= *last - *first; ++i) seeds.push_back(*first + i);
  }
  return seeds;
}

}  // namespace mmtune
