// Options that several verbs share, as a plain struct, and how the command line fills it.
#pragma once

#include <mmtune/types.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "templates/space.h"
#include "tuner/text/report.h"

namespace CLI {
class App;
}

namespace mmtune {

struct Options {
  std::string device = "auto";  ///< for choose_device()
  std::string database;         ///< empty: the default one, see database_path()
  std::vector<Precision> precisions{Precision::fp32};
  std::vector<Layout> layouts{Layout::nn};
  Format format = Format::table;
  ColorMode color = ColorMode::automatic;
};

/// Each adds its options to a verb; `options` must outlive the parsing. Bad values throw UsageError while parsing.
void add_device_option(CLI::App& verb, Options& options);
void add_database_option(CLI::App& verb, Options& options);
/// --precision and --layout; what `options` holds before is their default.
void add_problem_options(CLI::App& verb, Options& options);
/// --only, unchecked: families may be known only later.
void add_restriction_option(CLI::App& verb, Restriction& restriction);
/// --format and --color.
void add_output_options(CLI::App& verb, Options& options);
/// --verbose and --quiet, which set the log level.
void add_log_options(CLI::App& verb);

/// The file given with --db, else the default database.
std::string database_path(const Options& options);

/// Throws UsageError for a parameter that none of these families has, or a value that none allows.
void check_restriction(const Restriction& restriction, const std::vector<const Family*>& families);

/// "fp32", "fp32,fp16" or "all". Throw UsageError naming the offending item and the known ones.
std::vector<Precision> parse_precisions(std::string_view text);
std::vector<Layout> parse_layouts(std::string_view text);

/// "7", "1..5" or "1,2,9..12" in the order given; at most 1000. Throws UsageError naming the offending item.
std::vector<std::uint64_t> parse_seeds(std::string_view text);

/// Whether an option's list names the value; an empty list names all.
template <class Value>
bool is_wanted(const std::vector<Value>& list, const Value& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

/// "60", "60s", "5m" or "1h" in seconds. Throws UsageError for anything else and for zero.
double parse_duration_s(std::string_view text);

}  // namespace mmtune
