#include "tuner/commands/manual_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "runtime/base/env.h"
#include "tuner/commands/help.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

constexpr std::array<std::pair<ExitCode, std::string_view>, 8> kExitCodes{{
    {ExitCode::done, "done"},
    {ExitCode::internal_error, "an error of the program, or what it printed could not be written"},
    {ExitCode::usage, "usage: the message names the word and the remedy"},
    {ExitCode::no_device, "no usable GPU, driver or compiler"},
    {ExitCode::no_candidate, "some sizes without a valid candidate, or that do not fit in memory"},
    {ExitCode::database, "the database cannot be used"},
    {ExitCode::device_lost, "the GPU stopped working; what was finished is stored"},
    {ExitCode::interrupted, "interrupted; what was finished is stored"},
}};

/// Text that stays as it is: no request at the beginning of a line, no escapes, dashes that can be copied.
std::string roff(std::string_view text) {
  const bool is_request = text.starts_with('.') || text.starts_with('\'');
  return (is_request ? "\\&" : "") + replaced(text, {{'\\', "\\e"}, {'-', "\\-"}});
}

std::string roff_term(const Option& option) {
  if (is_argument(option)) return fmt::format("\\fI{}\\fR", roff(option.value));
  std::vector<std::string> names;
  for (const std::string& name : names_of(option)) names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
  const auto value = is_flag(option) ? "" : fmt::format(" \\fI{}\\fR", roff(option.value));
  return fmt::format("{}{}", fmt::join(names, ", "), value);
}

std::string roff_entry(const std::string& term, std::string_view meaning) {
  return fmt::format(".TP\n{}\n{}\n", term, roff(meaning));
}

std::string section(const Verb& verb, const std::string& path) {
  auto text = fmt::format(".SS {} {}\n{}\n", roff(path), roff(synopsis(verb)), roff(verb.help));
  for (const Option& option : verb.options) text += roff_entry(roff_term(option), description(option));
  if (!verb.examples.empty()) text += ".PP\n.EX\n";
  for (const std::string& example : verb.examples) text += roff(example) + '\n';
  if (!verb.examples.empty()) text += ".EE\n";
  for (const Verb& part : verb.verbs) text += section(part, fmt::format("{} {}", path, part.name));
  return text;
}

}  // namespace

std::string manual_page(const std::vector<Verb>& verbs, std::string_view version) {
  auto text = fmt::format(".TH MMTUNE 1 \"\" \"mmtune {}\"\n.SH NAME\nmmtune \\- {}\n", roff(version), roff(kPurpose));
  text += ".SH SYNOPSIS\n.B mmtune\n.RI [ VERB \"] [\" OPTIONS ]\n";
  text += fmt::format(
      ".SH DESCRIPTION\nWithout a verb {} is meant. Data goes to standard output; progress, warnings and "
      "errors go to standard error.\n",
      kMainVerb);
  text += ".SH VERBS\n";
  for (const Verb& verb : verbs) {
    if (verb.group != VerbGroup::hidden) text += section(verb, verb.name);
  }
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes)
    text += roff_entry(fmt::format("\\fB{}\\fR", static_cast<int>(code)), meaning);
  text += ".SH ENVIRONMENT\n";
  for (const env::Switch& each : env::switches()) {
    text += roff_entry(fmt::format("\\fB{}\\fR", roff(each.name)),
                       fmt::format("{} (default: {})", each.help, each.default_value));
  }
  return text;
}

}  // namespace mmtune
