#include "tuner/commands/option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "templates/base/letters.h"
#include "templates/base/names.h"
#include "templates/base/parsed_number.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// Throws UsageError that names the option.
std::uint64_t number_within(std::string_view option, std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto value = parsed_number<std::uint64_t>(text);
  if (value && *value >= least && *value <= most) return *value;
  throw UsageError(fmt::format("{} '{}': write a whole number from {} to {}", option, excerpt(text), least, most));
}

}  // namespace

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  for (const auto name : split(option.names, ',')) names.emplace_back(name);
  return names;
}

std::string name_of(const Option& option) {
  const auto names = names_of(option);
  const auto is_long = [](const std::string& name) { return name.size() > 2; };
  const auto found = std::find_if(names.begin(), names.end(), is_long);
  return found == names.end() ? names.front() : *found;
}

std::string shown_name(const Option& option) { return is_argument(option) ? option.value : name_of(option); }

Target text_target(std::string& target) {
  return {[&target](std::string_view, const std::string& text) { target = text; }, target};
}

Target list_target(std::string& target) {
  const auto take = [&target](std::string_view, const std::string& text) {
    if (!target.empty()) target += ',';
    target += text;
  };
  return {take};
}

Target texts_target(std::vector<std::string>& target) {
  return {[&target](std::string_view, const std::string& text) { target.push_back(text); }};
}

Target file_target(std::string& target) {
  const auto take = [&target](std::string_view name, const std::string& text) {
    if (text.empty()) throw UsageError(fmt::format("{0} '': names no file; write a path, or leave {0} out", name));
    target = text;
  };
  return {take, target};
}

Option flag_option(std::string names, std::string help, bool& target) {
  return {.names = std::move(names),
          .help = std::move(help),
          .target = {[&target](std::string_view, const std::string&) { target = true; }}};
}

Target number_target(int& target, int least, int most) {
  const auto take = [&target, least, most](std::string_view name, const std::string& text) {
    target = static_cast<int>(
        number_within(name, text, static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most)));
  };
  return {take, target >= least && target <= most ? fmt::to_string(target) : ""};
}

Target number_target(std::uint64_t& target) {
  const auto take = [&target](std::string_view name, const std::string& text) {
    target = number_within(name, text, 0, std::numeric_limits<std::uint64_t>::max());
  };
  return {take, fmt::to_string(target)};
}

Target duration_target(double& target_s) { return parsed_target(target_s, parse_duration_s); }

Target choice_target(std::string& target, const std::vector<std::string>& choices) {
  const auto take = [&target, choices](std::string_view name, const std::string& text) {
    const std::vector<std::string_view> known(choices.begin(), choices.end());
    const auto named = [&](std::string_view choice) { return equal_ignoring_case(choice, text); };
    const auto found = std::find_if(known.begin(), known.end(), named);
    if (found == known.end()) refuse_choice(name, text, known, nearest_name(text, known));
    target = *found;
  };
  return {take, target, choices};
}

void refuse_choice(std::string_view option, std::string_view text, const std::vector<std::string_view>& known,
                   std::string_view likely) {
  const std::string question = likely.empty() ? "" : fmt::format("did you mean '{}'? ", likely);
  throw UsageError(
      fmt::format("{} '{}': unknown; {}write one of {}", option, excerpt(text), question, fmt::join(known, ", ")));
}

double parse_duration_s(std::string_view text) {
  constexpr double kLongest_s = 1e9;  // 30 years: in nanoseconds it fits a clock
  double value = 0;
  const auto* last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), last, value);
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  const double seconds = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  // It is written so that not-a-number is refused too.
  if (failure != std::errc{} || !(value * seconds > 0 && value * seconds <= kLongest_s)) {
    throw UsageError(
        fmt::format("duration '{}': write a positive number with s, m or h, for example 60s", excerpt(text)));
  }
  return value * seconds;
}

}  // namespace mmtune
