// The only file that includes CLI11, which takes as long to compile as ten others.
#include "tuner/commands/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mmtune/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "tuner/text/files.h"

namespace mmtune {
namespace {

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

std::string help_of(const Option& option) {
  if (option.target.choices.empty()) return option.help;
  return fmt::format("{}: {}", option.help, fmt::join(option.target.choices, ", "));
}

CLI::Option* declare_flag(CLI::App& app, const Option& option) {
  const auto take = [option](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) option.target.take(option.names, "");
  };
  return app.add_flag_function(option.names, take, option.help);
}

/// `path` is the command whose help explains the option: "mmtune db prune".
CLI::Option* declare_valued(CLI::App& app, const Option& option, const std::string& path) {
  const auto take = [option, path](const CLI::results_t& texts) {
    try {
      for (const auto& text : texts) option.target.take(option.names, text);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}; see {} --help", error.what(), path));
    }
    return true;
  };
  auto* declared = app.add_option(option.names, take, help_of(option), !option.target.initial.empty());
  declared->type_name(option.value)->default_str(option.target.initial)->required(option.required);
  if (option.repeatable) {
    const bool is_argument = !option.names.starts_with('-');
    declared->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(is_argument);
  }
  return declared;
}

void declare_options(CLI::App& app, const Verb& verb, const std::string& path) {
  std::vector<CLI::Option*> declared;
  for (const Option& option : verb.options) {
    const bool is_flag = option.value.empty();
    declared.push_back(is_flag ? declare_flag(app, option) : declare_valued(app, option, path));
    declared.back()->group(option.group);
  }
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (const auto& name = verb.options[i].needs; !name.empty()) declared[i]->needs(app.get_option(name));
    if (const auto& name = verb.options[i].excludes; !name.empty()) declared[i]->excludes(app.get_option(name));
  }
}

/// Parsing sets `chosen` to the verb that the command line names.
void declare_verb(CLI::App& parent, const Verb& verb, const std::string& parent_path, const Verb*& chosen) {
  const auto path = fmt::format("{} {}", parent_path, verb.name);
  auto& app = *parent.add_subcommand(verb.name, verb.help);
  declare_options(app, verb, path);
  if (!verb.examples.empty()) app.footer(fmt::format("Examples:\n  {}", fmt::join(verb.examples, "\n  ")));
  for (const Verb& part : verb.verbs) declare_verb(app, part, path, chosen);
  if (!verb.verbs.empty()) app.require_subcommand(1);
  if (verb.run) app.callback([&verb, &chosen] { chosen = &verb; });
}

bool is_program_option(const std::string& argument) {
  return argument == "-h" || argument == "--help" || argument == "--version";
}

/// `mmtune --sizes …` means `mmtune tune --sizes …`. Also finds words that are no verb.
std::vector<std::string> with_verb(const std::vector<Verb>& verbs, std::vector<std::string> arguments) {
  std::vector<std::string> shown;
  for (const Verb& verb : verbs) {
    if (verb.group != VerbGroup::hidden) shown.push_back(verb.name);
  }
  const auto known = fmt::format("{}", fmt::join(shown, ", "));
  if (arguments.empty()) throw UsageError(fmt::format("no verb given; write one of {}, or --help", known));
  const auto& first = arguments.front();
  const auto is_first = [&first](const Verb& verb) { return verb.name == first; };
  if (is_program_option(first) || std::any_of(verbs.begin(), verbs.end(), is_first)) return arguments;
  if (!first.starts_with('-')) throw UsageError(fmt::format("unknown verb '{}'; write one of {}", first, known));
  arguments.emplace(arguments.begin(), kMainVerb);
  return arguments;
}

/// The command whose help explains a parse error: "mmtune db prune".
std::string command_path(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app.get_name() : fmt::format("{} {}", app.get_name(), command_path(*chosen.front()));
}

}  // namespace

std::function<ExitCode()> parse_command_line(const std::vector<Verb>& verbs, const std::string& version,
                                             std::vector<std::string> arguments) {
  CLI::App app("Finds the fastest matrix-multiplication kernel for each size on a GPU and remembers it", "mmtune");
  app.set_version_flag("--version", version);
  app.footer("mmtune --device auto --sizes 256..8192 is short for mmtune tune --device auto --sizes 256..8192");
  const Verb* chosen = nullptr;
  for (const Verb& verb : verbs) {
    declare_verb(app, verb, app.get_name(), chosen);
    app.get_subcommand(verb.name)->group(std::string(heading(verb.group)));
  }
  arguments = with_verb(verbs, std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      throw UsageError(fmt::format("{}; see {} --help", error.what(), command_path(app)));
    }
    std::ostringstream text;  // --help, --version
    app.exit(error, text, text);
    return [page = text.str()] {
      print_out(page);
      return ExitCode::done;
    };
  }
  return chosen->run;
}

}  // namespace mmtune
