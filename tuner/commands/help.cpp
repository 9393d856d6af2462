#include "tuner/commands/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tuner/text/terminal.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// The width of a page in columns: that of the terminal as far as it can be read.
std::size_t page_width() {
  constexpr std::size_t kLeast = 60, kMost = 100;
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  return columns == 0 ? kMost : std::clamp(columns, kLeast, kMost);
}

constexpr std::size_t kIndent = 2;
constexpr std::size_t kTermWidth = 26;

constexpr std::array kShown{VerbGroup::tuning, VerbGroup::results, VerbGroup::inspection};

/// A term and what it means, in two columns.
std::string entry(const std::string& term, std::string_view meaning) {
  std::string text = fmt::format("{:{}}{:<{}}", "", kIndent, term, kTermWidth);
  const std::string margin(kIndent + kTermWidth, ' ');
  if (width_of(term) + 2 > kTermWidth) text += '\n' + margin;
  return fmt::format("{}{}\n", text, fmt::join(wrapped(meaning, page_width() - margin.size()), '\n' + margin));
}

/// "-v, --verbose", "--sizes, --size SIZES", "FAMILY".
std::string term(const Option& option) {
  if (is_argument(option)) return option.value;
  auto text = fmt::format("{}", fmt::join(names_of(option), ", "));
  return is_flag(option) ? text : fmt::format("{} {}", text, option.value);
}

std::string options_text(const std::vector<Option>& options) {
  std::string text;
  std::string_view group;
  for (const Option& option : options) {
    if (option.group != group) text += fmt::format("\n{}:\n", option.group);
    group = option.group;
    text += entry(term(option), description(option));
  }
  return text;
}

}  // namespace

std::string_view heading(VerbGroup group) {
  switch (group) {
    case VerbGroup::tuning:
      return "Tuning";
    case VerbGroup::results:
      return "Results";
    case VerbGroup::inspection:
      return "Inspection";
    case VerbGroup::hidden:
      break;
  }
  return "";
}

std::string synopsis(const Verb& verb) {
  if (!verb.verbs.empty()) return "VERB [OPTIONS]";
  std::string text, rest;
  for (const Option& option : verb.options) {
    if (!is_argument(option)) continue;
    if (option.repeatable) {
      rest = fmt::format(" {} …", option.value);
    } else {
      text += option.required ? option.value + ' ' : fmt::format("[{}] ", option.value);
    }
  }
  for (const Option& option : verb.options) {
    if (!is_argument(option) && option.required) text += fmt::format("{} {} ", name_of(option), option.value);
  }
  return text + "[OPTIONS]" + rest;
}

std::string description(const Option& option) {
  std::string text = option.help;
  const Target& target = option.target;
  if (!target.choices.empty()) text += fmt::format(": {}", fmt::join(target.choices, ", "));
  if (option.required) text += " (required)";
  if (!target.initial.empty()) text += fmt::format(" (default: {})", target.initial);
  if (!option.needs.empty()) text += fmt::format(" (with {})", option.needs);
  return text;
}

std::string help_page(const Verb& verb, const std::string& path) {
  auto text = fmt::format("{}\n\n  {} {}\n", verb.help, path, synopsis(verb));
  if (!verb.verbs.empty()) text += "\nVerbs:\n";
  for (const Verb& part : verb.verbs) text += entry(part.name, part.help);
  text += options_text(verb.options);
  if (!verb.examples.empty()) text += fmt::format("\nExamples:\n  {}\n", fmt::join(verb.examples, "\n  "));
  return text;
}

std::string help_page(const std::vector<Verb>& verbs) {
  auto text = fmt::format("{}\n\n  mmtune VERB [OPTIONS]\n", kPurpose);
  for (const VerbGroup group : kShown) {
    text += fmt::format("\n{}:\n", heading(group));
    for (const Verb& verb : verbs) {
      if (verb.group == group) text += entry(verb.name, verb.help);
    }
  }
  text += "\nOptions:\n" + entry("-h, --help", "this page; of a verb: mmtune VERB --help");
  text += entry("--version", "print the version");
  text += "\nTo begin with:\n  mmtune --device auto --sizes 256..8192    # short for mmtune tune …\n  mmtune show\n";
  return text;
}

}  // namespace mmtune
