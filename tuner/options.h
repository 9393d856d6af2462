// Options that several verbs share, as a plain struct, and how the command line fills it.
#pragma once

#include <mmtune/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "tuner/report.h"

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
/// --format and --color.
void add_output_options(CLI::App& verb, Options& options);
/// --verbose and --quiet, which set the log level.
void add_log_options(CLI::App& verb);

/// The file given with --db, else the default database.
std::string database_path(const Options& options);

/// "fp32", "fp32,fp16" or "all". Throw UsageError naming the offending item and the known ones.
std::vector<Precision> parse_precisions(std::string_view text);
std::vector<Layout> parse_layouts(std::string_view text);

/// "60", "60s", "5m" or "1h" in seconds. Throws UsageError for anything else and for zero.
double parse_duration_s(std::string_view text);

}  // namespace mmtune
