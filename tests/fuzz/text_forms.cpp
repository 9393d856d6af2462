// Names of precisions, layouts, outcomes and levels, lists of them, durations, lists of seeds, times of day, hashes,
// driver versions.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "db/trial.h"
#include "runtime/base/log.h"
#include "runtime/gpu/driver.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/commands/options.h"

namespace {

using namespace mmtune;

/// A name that is known means the value of that name.
template <class Parse>
void check_name(const Parse& parse, std::string_view text) {
  if (const auto value = parse(text)) fuzz::require(to_string(*value) == text, "reads what it writes");
}

template <class Parse>
void check_list(const Parse& parse, std::string_view text) {
  fuzz::allow<UsageError>([&] {
    auto values = parse(text);
    std::sort(values.begin(), values.end());
    fuzz::require(!values.empty() && std::adjacent_find(values.begin(), values.end()) == values.end(),
                  "each value once");
  });
}

void check_seeds(std::string_view text) {
  fuzz::allow<UsageError>([&] {
    const auto seeds = parse_seeds(text);
    fuzz::require(!seeds.empty() && seeds.size() <= 1000, "between 1 and 1000 seeds");
    fuzz::require(parse_seeds(fmt::format("{}", fmt::join(seeds, ","))) == seeds, "reads what it writes");
  });
}

}  // namespace

MMTUNE_FUZZER(text_forms) {
  const auto text = fuzz::text_of(data, size);
  check_name(parse_precision, text);
  check_name(parse_layout, text);
  check_name(parse_outcome, text);
  check_name(parse_evidence, text);
  check_list(parse_precisions, text);
  check_list(parse_layouts, text);
  log::parse_level(text);
  fuzz::allow<UsageError>([&] {
    const double seconds = parse_duration_s(text);
    fuzz::require(seconds > 0 && std::isfinite(1e9 * seconds) && 1e9 * seconds < 0x1p63, "fits a clock");
  });
  check_seeds(text);
  const std::string copy(text);
  if (rule::utc_time(copy).empty()) fuzz::require(copy.size() == 20, "a time of day has 20 characters");
  if (rule::hash(copy).empty()) fuzz::require(copy.size() <= 64, "a hash has at most 64 characters");
  fuzz::require(parse_driver_release(copy).find_first_not_of("0123456789.") == std::string::npos,
                "a driver's version has digits and points only");
  return 0;
}
