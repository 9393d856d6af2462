// An option of the command line as plain data: it is parsed by it, and the help pages are made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mmtune {

/// The place where the value of an option goes.
struct Target {
  /// Gets the text, each time that the option is given. `name` is the option's, for messages. Throws UsageError.
  std::function<void(std::string_view name, const std::string& text)> take;
  std::string initial = {};               ///< the value without the option, as it would be written; empty: none to show
  std::vector<std::string> choices = {};  ///< all that can be written; empty: anything that `take` accepts
  std::vector<std::string> offered = {};  ///< what shells offer where there are no choices: the usual values
};

/// Mostly written in a row: {"--count", "NUMBER", "at most so many sizes", number_target(count)}.
struct Option {
  std::string names;       ///< "--sizes", "-v,--verbose"; without dashes: an argument, which is told by its place
  std::string value = {};  ///< the name of the value on the help page: "SIZES"; empty: a flag, whose text is empty
  std::string help;
  Target target;
  std::string group = {};  ///< the heading on the help page; Verb::add() sets it
  bool required = false;
  bool repeatable = false;
  std::string needs = {};     ///< another option of the verb, without which this one is refused
  std::string excludes = {};  ///< another option of the verb, with which this one is refused
};

/// "-v", "--verbose".
std::vector<std::string> names_of(const Option& option);
/// The first long name.
std::string name_of(const Option& option);
/// What messages call it: the name of an option, the value of an argument as on the help page.
std::string shown_name(const Option& option);
inline bool is_argument(const Option& option) { return !option.names.starts_with('-'); }
inline bool is_flag(const Option& option) { return option.value.empty(); }

/// The same option, which has to be given.
inline Option required(Option option) {
  option.required = true;
  return option;
}
/// The same option, refused without another one of the verb.
inline Option only_with(std::string other, Option option) {
  option.needs = std::move(other);
  return option;
}
/// The same option, refused with another one of the verb.
inline Option never_with(std::string other, Option option) {
  option.excludes = std::move(other);
  return option;
}

/// Targets for what `target` refers to, which must outlive the parsing. What it holds before is the default.

Target text_target(std::string& target);

/// A list with commas. What is given later comes behind it.
Target list_target(std::string& target);

/// Every text that is given; for options that may be repeated.
Target texts_target(std::vector<std::string>& target);

/// A path. The empty one is refused, as it would stand for some default.
Target file_target(std::string& target);

Option flag_option(std::string names, std::string help, bool& target);

/// A whole number in decimal, without a sign. A default outside of the limits stands for something else: it is not
/// shown.
Target number_target(int& target, int least, int most);
Target number_target(std::uint64_t& target);

/// "60", "60s", "5m" or "1h". The default is not shown.
Target duration_target(double& target_s);

/// One of these texts, in any case of letters.
Target choice_target(std::string& target, const std::vector<std::string>& choices);

/// Throws UsageError: the option has no such choice, and `likely`, unless that is empty, may be the one that is meant.
[[noreturn]] void refuse_choice(std::string_view option, std::string_view text,
                                const std::vector<std::string_view>& known, std::string_view likely);

/// What `parse` makes of the text; `initial` is the text of the default.
template <class Value, class Parse>
Target parsed_target(Value& target, Parse parse, std::string initial = {}) {
  return {[&target, parse](std::string_view, const std::string& text) { target = parse(text); }, std::move(initial)};
}

/// "60", "60s", "5m" or "1h" in seconds. Throws UsageError for anything else and for zero.
double parse_duration_s(std::string_view text);

}  // namespace mmtune
