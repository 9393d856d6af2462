#include "tuner/commands/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "templates/base/names.h"
#include "tuner/commands/help.h"
#include "tuner/text/files.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

using Arguments = std::span<const std::string>;

bool asks_for_help(std::string_view argument) { return argument == "-h" || argument == "--help"; }

const Verb* find_verb(const std::vector<Verb>& verbs, std::string_view name) {
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) { return verb.name == name; });
  return found == verbs.end() ? nullptr : &*found;
}

std::vector<std::string_view> shown_names(const std::vector<Verb>& verbs) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs) {
    if (verb.group != VerbGroup::hidden) names.emplace_back(verb.name);
  }
  return names;
}

/// Reads the arguments behind the words that name a verb: first all of them, then their values.
class Reader {
 public:
  Reader(const Verb& verb, std::string path) : verb_(verb), path_(std::move(path)) {
    for (const Option& option : verb.options) {
      if (is_argument(option)) arguments_.push_back(&option);
    }
    places_ = arguments_;
  }

  /// False if the arguments ask for help. Throws UsageError.
  bool read(Arguments arguments) {
    try {
      for (rest_ = arguments; !rest_.empty();) {
        const std::string& argument = rest_.front();
        rest_ = rest_.subspan(1);
        if (asks_for_help(argument) && !only_values_) return false;
        read_one(argument);
      }
      check_combination();
      for (const auto& [option, text] : given_) option->target.take(shown_name(*option), text);
      return true;
    } catch (const UsageError& error) {
      const std::string what = error.what();
      throw UsageError(fmt::format("{}{} see {} --help", what, what.ends_with('?') ? "" : ";", path_));
    }
  }

 private:
  void read_one(const std::string& argument) {
    if (only_values_ || argument == "-" || !argument.starts_with('-')) {
      give_argument(argument);
    } else if (argument == "--") {
      only_values_ = true;
    } else if (argument.starts_with("--")) {
      const std::size_t end = std::min(argument.find('='), argument.size());
      const Option& option = known(argument.substr(0, end));
      give(option, end == argument.size() ? std::nullopt : std::optional(argument.substr(end + 1)));
    } else {
      for (const char letter : std::string_view(argument).substr(1)) give(known({'-', letter}), std::nullopt);
    }
  }

  const Option* find(const std::string& name) const {
    for (const Option& option : verb_.options) {
      const auto names = names_of(option);
      if (std::find(names.begin(), names.end(), name) != names.end()) return &option;
    }
    return nullptr;
  }

  const Option& known(const std::string& name) const {
    if (const Option* option = find(name)) return *option;
    std::vector<std::string_view> names;
    for (const Option& option : verb_.options) {
      for (const std::string_view each : split(option.names, ',')) names.push_back(each);
    }
    const auto nearest = name.size() > 2 ? nearest_name(name, names) : "";
    const auto question = nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest);
    throw UsageError(fmt::format("unknown option '{}'{}", excerpt(name), question));
  }

  /// What may be meant by a word that is the value of no option: that of the first one that must be given.
  std::string remedy_of(const std::string& text) const {
    for (const Option& option : verb_.options) {
      if (option.required && !is_argument(option)) {
        return fmt::format("; write {} {}", name_of(option), excerpt(text));
      }
    }
    return arguments_.empty() ? fmt::format("; values follow an option: {} {}", path_, synopsis(verb_))
                              : fmt::format("; write {} {}", path_, synopsis(verb_));
  }

  void give_argument(const std::string& text) {
    if (places_.empty()) throw UsageError(fmt::format("'{}' is not expected here{}", excerpt(text), remedy_of(text)));
    const Option& option = *places_.front();
    if (!option.repeatable) places_ = places_.subspan(1);
    given_.emplace_back(&option, text);
  }

  /// `written` is the value behind an equals sign.
  void give(const Option& option, const std::optional<std::string>& written) {
    const bool is_new =
        std::none_of(given_.begin(), given_.end(), [&](const auto& each) { return each.first == &option; });
    if (is_flag(option)) {
      if (written) throw UsageError(fmt::format("{}: takes no value", name_of(option)));
      given_.emplace_back(&option, "");
      return;
    }
    if (!is_new && !option.repeatable) throw UsageError(fmt::format("{}: given more than once", name_of(option)));
    if (written) {
      given_.emplace_back(&option, *written);
      return;
    }
    if (rest_.empty() || find(rest_.front()) != nullptr || asks_for_help(rest_.front())) {
      throw UsageError(fmt::format("{0}: without a value; write {0} {1}", name_of(option), option.value));
    }
    given_.emplace_back(&option, rest_.front());
    rest_ = rest_.subspan(1);
  }

  void check_combination() const {
    std::set<std::string> names;
    for (const auto& [option, text] : given_) names.insert(name_of(*option));
    for (const Option& option : verb_.options) {
      const std::string name = name_of(option);
      if (!names.contains(name)) {
        if (!option.required) continue;
        if (is_argument(option)) {
          throw UsageError(fmt::format("{}: missing; write {} {}", option.value, path_, synopsis(verb_)));
        }
        throw UsageError(fmt::format("{0}: missing; write {0} {1}", name, option.value));
      }
      if (!option.needs.empty() && !names.contains(option.needs)) {
        throw UsageError(fmt::format("{}: only together with {}", name, option.needs));
      }
      if (names.contains(option.excludes)) {
        throw UsageError(fmt::format("{}: not together with {}", name, option.excludes));
      }
    }
  }

  const Verb& verb_;
  std::string path_;
  std::vector<const Option*> arguments_;
  std::span<const Option*> places_;  ///< the arguments that are still to come
  Arguments rest_;
  bool only_values_ = false;  ///< whether "--" came before
  std::vector<std::pair<const Option*, std::string>> given_;
};

/// A run that prints a page.
std::function<ExitCode()> page(std::string text) {
  return [text = std::move(text)] {
    print_out(text);
    return ExitCode::done;
  };
}

std::function<ExitCode()> parse_verb(const Verb& verb, const std::string& path, Arguments arguments) {
  if (verb.verbs.empty()) {
    return Reader(verb, path).read(arguments) ? verb.run : page(help_page(verb, path));
  }
  const auto names = shown_names(verb.verbs);
  if (arguments.empty()) {
    throw UsageError(fmt::format("{0}: write one of {1} behind it; see {0} --help", path, fmt::join(names, ", ")));
  }
  const std::string& first = arguments.front();
  if (asks_for_help(first)) return page(help_page(verb, path));
  if (const Verb* part = find_verb(verb.verbs, first)) {
    return parse_verb(*part, fmt::format("{} {}", path, first), arguments.subspan(1));
  }
  throw UsageError(
      fmt::format("{0}: unknown verb '{1}': {2}; see {0} --help", path, excerpt(first), known_names(first, names)));
}

}  // namespace

std::function<ExitCode()> parse_command_line(const std::vector<Verb>& verbs, const std::string& version,
                                             const std::vector<std::string>& arguments) {
  if (arguments.empty() || asks_for_help(arguments.front())) return page(help_page(verbs));
  const std::string& first = arguments.front();
  if (first == "--version") return page(version + '\n');
  const Arguments all(arguments);
  if (const Verb* verb = find_verb(verbs, first)) {
    return parse_verb(*verb, fmt::format("mmtune {}", first), all.subspan(1));
  }
  // `mmtune --sizes …` means `mmtune tune --sizes …`.
  if (first.starts_with('-')) return parse_verb(*find_verb(verbs, kMainVerb), fmt::format("mmtune {}", kMainVerb), all);
  throw UsageError(
      fmt::format("unknown verb '{}': {}; see mmtune --help", excerpt(first), known_names(first, shown_names(verbs))));
}

}  // namespace mmtune
