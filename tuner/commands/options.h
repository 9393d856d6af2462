// Options that several verbs share, as a plain struct, and how the command line fills it.
#pragma once

#include <mmtune/types.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "templates/space/space.h"
#include "tuner/commands/verb.h"
#include "tuner/text/report.h"

namespace mmtune {

struct Options : Output {
  std::string device = "auto";  ///< the argument of choose_device()
  std::string database;         ///< empty: the default one, see database_path()
  std::vector<Precision> precisions{kDefaultPrecision};
  std::vector<Layout> layouts{Layout::nn};
  bool invariant = false;  ///< whether products have the same bits for every size
};

/// Options that write to what they are given, which must outlive the parsing; what it holds before is the default.

/// A target of --family, for which shells offer the families.
Target family_target(std::string& family);

/// The argument FAMILY, and --sizes: both required.
Option family_argument(std::string& family);
/// --family and --config of one kernel. `meaning` says what naming a family does.
std::vector<Option> kernel_options(std::string& family, std::string& config, std::string meaning);
Option sizes_option(std::string& sizes);
Option device_option(Options& options);
/// A target of --device, for which shells offer "auto" and the models.
Target device_target(std::string& device);
Option database_option(Options& options);
/// --wait, for verbs that measure.
Option wait_option(double& wait_s);
/// --precision and --layout.
std::vector<Option> problem_options(Options& options);
/// --invariant.
Option invariant_option(Options& options);
/// --only, unchecked: families may be known only later.
Option restriction_option(Restriction& restriction);

/// --format, --color, --wide, and those of add_log_options().
void add_output_options(Verb& verb, Options& options);
/// --verbose and --quiet, which set the log level.
void add_log_options(Verb& verb);

/// The file given with --db, else the default database.
std::string database_path(const Options& options);

/// Throws DatabaseError where that cannot be said: no permission, a loop of links, a name that is too long.
bool database_exists(const std::string& path);

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

}  // namespace mmtune
