#include "tuner/commands/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "templates/base/joined.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// A verb that takes options, and the words that name it: {"db", "prune"}.
struct Command {
  std::vector<std::string> words;
  const Verb* verb;
};

void collect(const std::vector<Verb>& verbs, const std::vector<std::string>& before, std::vector<Command>& commands) {
  for (const Verb& verb : verbs) {
    auto words = before;
    words.push_back(verb.name);
    if (verb.verbs.empty()) commands.push_back({words, &verb});
    collect(verb.verbs, words, commands);
  }
}

std::vector<Command> commands_of(const std::vector<Verb>& verbs) {
  std::vector<Command> commands;
  collect(verbs, {}, commands);
  return commands;
}

std::string names_of(const std::vector<Verb>& verbs) {
  return joined(verbs, " ", [](const Verb& verb) { return verb.name; });
}

bool names_a_file(const Option& option) { return option.value == "FILE"; }

/// The values that a shell offers.
const std::vector<std::string>& offered(const Option& option) {
  return option.target.choices.empty() ? option.target.offered : option.target.choices;
}

/// The text as it stands within single quotes of bash and zsh.
std::string shell_quoted(std::string_view text) { return replaced(text, {{'\'', R"('\'')"}}); }

std::string bash_script(const std::vector<Verb>& verbs) {
  std::string parts;    // what is completed behind a verb that has parts
  std::string options;  // the options of each verb
  std::string values;   // the values of each option that has one
  for (const Verb& verb : verbs) {
    if (!verb.verbs.empty()) parts += fmt::format("    {}) words='{}' ;;\n", verb.name, names_of(verb.verbs));
  }
  for (const auto& [words, verb] : commands_of(verbs)) {
    const auto path = fmt::format("{}", fmt::join(words, " "));
    std::vector<std::string> names{"--help"};
    for (const Option& option : verb->options) {
      if (is_argument(option)) {
        names.insert(names.end(), offered(option).begin(), offered(option).end());
        continue;
      }
      for (const std::string& name : names_of(option)) {
        names.push_back(name);
        if (is_flag(option)) continue;
        const auto reply =
            names_a_file(option) ? "compgen -f" : fmt::format("compgen -W '{}'", fmt::join(offered(option), " "));
        values += fmt::format("    '{} {}') COMPREPLY=($({} -- \"$word\")); return ;;\n", path, name, reply);
      }
    }
    options += fmt::format("    '{}') words='{}' ;;\n", path, fmt::join(names, " "));
  }
  return fmt::format(R"(# Completes mmtune in bash. Generated.
# Offers what the last of these words may go on with.
_mmtune_offer() {{
  local given=("$@") count=$(($# - 1)) words='' verb=''
  local word=${{given[count]}} before=${{given[count-1]}}
  [[ $count -gt 1 || $word == -* ]] && verb=${{given[1]}}
  [[ $verb == -* ]] && verb={}
  case $verb in
    '') words='{} --help --version' ;;
{}  esac
  [[ -n $words && -n $verb && $count -gt 2 ]] && verb+=" ${{given[2]}}"
  case "$verb $before" in
{}  esac
  case $verb in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
# Bash breaks words at a colon and at an equals sign: "model:h200" comes as three, and only the last is replaced.
_mmtune() {{
  local given=() each
  for each in "${{COMP_WORDS[@]:0:COMP_CWORD+1}}"; do
    if [[ ${{#given[@]}} -gt 0 && ( $each == : || ${{given[-1]}} == *: ) ]]; then
      given[-1]+=$each
    elif [[ ${{#given[@]}} -gt 0 && ${{given[-1]}} == '=' ]]; then
      given[-1]=$each
    else
      given+=("$each")
    fi
  done
  [[ ${{given[-1]}} == '=' ]] && given[-1]=''
  _mmtune_offer "${{given[@]}}"
  local word=${{given[-1]}}
  [[ $word == *:* && $COMP_WORDBREAKS == *:* ]] && COMPREPLY=("${{COMPREPLY[@]#"${{word%:*}}:"}}")
}}
complete -o default -F _mmtune mmtune
)",
                     kMainVerb, names_of(verbs), parts, values, options);
}

/// "--effort[how many candidates are tried]:NAME:(quick default full)", in quotes.
std::string zsh_option(const Option& option) {
  const auto what = replaced(option.help, {{'[', "\\["}, {']', "\\]"}, {':', "\\:"}, {'\\', "\\\\"}});
  std::string action;
  if (names_a_file(option)) action = "_files";
  if (!offered(option).empty())
    action = fmt::format("({})", replaced(fmt::format("{}", fmt::join(offered(option), " ")), {{':', "\\:"}}));
  const auto value = is_flag(option) ? "" : fmt::format(":{}:{}", option.value, action);
  if (is_argument(option)) return fmt::format(" '{}'", shell_quoted(value));
  std::string text;
  for (const std::string& name : names_of(option)) {
    const bool may_repeat = option.repeatable || is_flag(option);
    text += fmt::format(" '{}{}[{}]{}'", may_repeat ? "*" : "", name, shell_quoted(what), shell_quoted(value));
  }
  return text;
}

std::string zsh_verbs(const std::vector<Verb>& verbs) {
  std::string text;
  for (const Verb& verb : verbs) {
    text += fmt::format(" '{}:{}'", verb.name, shell_quoted(replaced(verb.help, {{':', "\\:"}})));
  }
  return text;
}

/// What follows the word that names one of these verbs, which is the first of `words` then, as a command would be.
std::string zsh_cases(const std::vector<Verb>& verbs) {
  std::string text;
  for (const Verb& verb : verbs) {
    text += fmt::format("    ({})\n", verb.name);
    if (verb.verbs.empty()) {
      text += "      _arguments -s '--help[explain]'";
      for (const Option& option : verb.options) text += zsh_option(option);
      text += " ;;\n";
      continue;
    }
    text += fmt::format(R"(      if (( CURRENT == 2 )); then
        verbs=({} )
        _describe verb verbs
        return
      fi
      shift words
      (( CURRENT-- ))
      case $words[1] in
{}      esac ;;
)",
                        zsh_verbs(verb.verbs), zsh_cases(verb.verbs));
  }
  return text;
}

std::string zsh_script(const std::vector<Verb>& verbs) {
  return fmt::format(R"(#compdef mmtune
# Completes mmtune in zsh. Generated.
_mmtune() {{
  local -a verbs
  if [[ $words[2] == -* ]]; then
    words[1]={}
  elif (( CURRENT == 2 )); then
    verbs=({} )
    _describe verb verbs
    return
  else
    shift words
    (( CURRENT-- ))
  fi
  case $words[1] in
{}  esac
}}
_mmtune "$@"
)",
                     kMainVerb, zsh_verbs(verbs), zsh_cases(verbs));
}

std::string fish_quoted(std::string_view text) { return replaced(text, {{'\\', "\\\\"}, {'\'', "\\'"}}); }

std::string fish_option(const std::string& condition, const Option& option) {
  auto text = fmt::format("complete -c mmtune -n '{}'", condition);
  for (const std::string& name : names_of(option)) {
    text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
  }
  if (!is_flag(option)) text += names_a_file(option) ? " -r -F" : " -x";
  if (!offered(option).empty()) text += fmt::format(" -a '{}'", fmt::join(offered(option), " "));
  return text + fmt::format(" -d '{}'\n", fish_quoted(option.help));
}

std::string fish_script(const std::vector<Verb>& verbs) {
  std::string text = "# Completes mmtune in fish. Generated.\n";
  for (const Verb& verb : verbs) {
    text += fmt::format("complete -c mmtune -f -n __fish_use_subcommand -a {} -d '{}'\n", verb.name,
                        fish_quoted(verb.help));
    for (const Verb& part : verb.verbs) {
      text += fmt::format(
          "complete -c mmtune -f -n '__fish_seen_subcommand_from {}; and not __fish_seen_subcommand_from {}' -a {} -d "
          "'{}'\n",
          verb.name, names_of(verb.verbs), part.name, fish_quoted(part.help));
    }
  }
  for (const auto& [words, verb] : commands_of(verbs)) {
    std::string condition =
        joined(words, "; and ", [](const std::string& word) { return "__fish_seen_subcommand_from " + word; });
    if (verb->name == kMainVerb) condition += "; or __fish_use_subcommand";
    for (const Option& option : verb->options) {
      if (!is_argument(option)) text += fish_option(condition, option);
    }
  }
  return text;
}

}  // namespace

const std::vector<std::string>& shells() {
  static const std::vector<std::string> names{"bash", "zsh", "fish"};
  return names;
}

std::string completion_script(std::string_view shell, std::vector<Verb> verbs) {
  std::erase_if(verbs, [](const Verb& verb) { return verb.group == VerbGroup::hidden; });
  if (shell == "zsh") return zsh_script(verbs);
  return shell == "fish" ? fish_script(verbs) : bash_script(verbs);
}

}  // namespace mmtune
