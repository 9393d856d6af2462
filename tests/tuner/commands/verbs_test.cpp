// The verbs as data, and how a command line is read by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <fstream>
#include <set>
#include <sstream>

#include "test_paths.h"
#include "tuner/commands/command_line.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Each verb that runs, with the words that name it.
void collect(const Verb& verb, const std::string& words, std::vector<std::pair<std::string, Verb>>& all) {
  if (verb.run) all.emplace_back(words, verb);
  for (const Verb& part : verb.verbs) collect(part, words + ' ' + part.name, all);
}

std::vector<std::pair<std::string, Verb>> runnable_verbs() {
  std::vector<std::pair<std::string, Verb>> all;
  for (const Verb& verb : verbs()) collect(verb, verb.name, all);
  return all;
}

std::string manual() {
  std::ostringstream text;
  for (const auto* page : {"cli.md", "benchmarking.md"}) {
    text << std::ifstream(std::string(MMTUNE_SOURCE_DIR "/docs/") + page).rdbuf();
  }
  return text.str();
}

TEST(Verbs, EachIsDescribedInFull) {
  for (const auto& [words, verb] : runnable_verbs()) {
    EXPECT_NE(verb.help, "") << words;
    EXPECT_TRUE(!verb.examples.empty() || verb.group == VerbGroup::hidden) << words;
    std::set<std::string> names;
    for (const Option& option : verb.options) {
      EXPECT_NE(option.help, "") << words << ' ' << option.names;
      EXPECT_TRUE(option.target.take) << words << ' ' << option.names;
      for (const auto& name : names_of(option)) EXPECT_TRUE(names.insert(name).second) << words << ' ' << name;
    }
    for (const Option& option : verb.options) {
      for (const auto& other : {option.needs, option.excludes}) {
        EXPECT_TRUE(other.empty() || names.contains(other)) << words << ' ' << option.names;
      }
    }
  }
}

TEST(Verbs, DefaultsAreAmongTheChoices) {
  for (const auto& [words, verb] : runnable_verbs()) {
    for (const Option& option : verb.options) {
      if (option.target.choices.empty()) continue;
      if (option.target.initial.empty()) continue;
      EXPECT_THAT(option.target.choices, Contains(option.target.initial)) << words << ' ' << option.names;
    }
  }
}

TEST(Verbs, TheManualKnowsEveryVerbAndOption) {
  const auto text = manual();
  for (const auto& [words, verb] : runnable_verbs()) {
    if (verb.group == VerbGroup::hidden) continue;
    EXPECT_THAT(text, HasSubstr("mmtune " + words));
    for (const Option& option : verb.options) {
      for (const auto& name : names_of(option)) {
        if (!name.starts_with('-')) continue;
        EXPECT_THAT(text, HasSubstr(name)) << words;
      }
    }
  }
}

TEST(Verbs, ExamplesCanBeRead) {
  for (const auto& [words, verb] : runnable_verbs()) {
    for (const std::string& example : verb.examples) {
      // What a shell would do, as far as examples go.
      std::vector<std::string> arguments;
      std::istringstream text(example.substr(0, example.find(" >")));
      for (std::string argument; text >> argument;) {
        std::string rest;
        if (argument.front() == '"') {
          std::getline(text, rest, '"');
          argument = argument.substr(1) + rest;
        }
        arguments.push_back(argument);
      }
      ASSERT_EQ(arguments.front(), "mmtune") << example;
      arguments.erase(arguments.begin());
      EXPECT_NO_THROW(parse_command_line(verbs(), "", arguments)) << example;
    }
  }
}

/// A verb with one option of each kind.
struct Toy {
  std::string text = "initial";
  std::vector<std::string> words;
  std::string file;
  bool flag = false;
  int number = 3;
  std::uint64_t seed = 1;
  std::string choice = "one";
  int runs = 0;

  Verb verb() {
    Verb toy{.name = "toy", .help = "for a test", .run = [this] {
               ++runs;
               return ExitCode::done;
             }};
    toy.add("Options",
            {{.names = "--text", .value = "T", .help = "t", .target = text_target(text)},
             {.names = "--word", .value = "W", .help = "w", .target = texts_target(words), .repeatable = true},
             {.names = "--file", .value = "F", .help = "f", .target = file_target(file)},
             flag_option("-f,--flag", "f", flag),
             {.names = "--number", .value = "N", .help = "n", .target = number_target(number, 2, 5)},
             {.names = "--seed", .value = "N", .help = "s", .target = number_target(seed)},
             {.names = "--choice", .value = "C", .help = "c", .target = choice_target(choice, {"one", "two"})}});
    return toy;
  }

  /// What went wrong, or "".
  std::string read(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "toy");
    try {
      parse_command_line({verb()}, "", std::move(arguments))();
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  }
};

TEST(Verbs, OptionsTakeTheirValues) {
  Toy toy;
  EXPECT_EQ(toy.read({"--text", "", "--word", "a", "--word=b", "-f", "--file", "x y", "--number=5", "--seed",
                      "18446744073709551615", "--choice", "two"}),
            "");
  EXPECT_EQ(toy.text, "");
  EXPECT_THAT(toy.words, ElementsAre("a", "b"));
  EXPECT_EQ(toy.file, "x y");
  EXPECT_TRUE(toy.flag);
  EXPECT_EQ(toy.number, 5);
  EXPECT_EQ(toy.seed, 18446744073709551615u);
  EXPECT_EQ(toy.choice, "two");
  EXPECT_EQ(toy.runs, 1);
}

TEST(Verbs, WhatBeginsWithADashMayBeAValueOrBehindADoubleDash) {
  Toy toy;
  EXPECT_EQ(toy.read({"--text", "-x", "-ff", "--word=--flag"}), "");
  EXPECT_EQ(toy.text, "-x");
  EXPECT_THAT(toy.words, ElementsAre("--flag"));
  EXPECT_THAT(toy.read({"--", "--text"}), HasSubstr("'--text' is not expected here"));
}

TEST(Verbs, WhatCannotBeReadNamesTheWordAndTheRemedy) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> faults{
      {{"--txet", "a"}, "unknown option '--txet': did you mean '--text'?"},
      {{"-fx"}, "unknown option '-x'"},
      {{"--colour-of-money"}, "unknown option '--colour-of-money'; see"},
      {{"stray"}, "'stray' is not expected here"},
      {{"--text"}, "--text: without a value; write --text T"},
      {{"--text", "--flag"}, "--text: without a value; write --text T"},
      {{"--flag=yes"}, "--flag: takes no value"},
      {{"--text", "a", "--text=b"}, "--text: given more than once"},
      {{"--te\033xt"}, "'--te\\x1bxt'"},
  };
  for (const auto& [arguments, message] : faults) {
    EXPECT_THAT(Toy().read(arguments), AllOf(HasSubstr(message), ContainsRegex("[;?] see mmtune toy --help$")))
        << message;
  }
}

/// What the program says of these words.
std::string refusal_of(const std::vector<std::string>& arguments) {
  try {
    parse_command_line(verbs(), "", arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Verbs, WhatIsMissingHasTheNameOfTheHelpPage) {
  EXPECT_THAT(refusal_of({"compare", "model:t4"}), HasSubstr("SIDE: missing; write mmtune compare SIDE SIDE"));
  EXPECT_THAT(refusal_of({"db", "merge"}), HasSubstr("FILE: missing; write mmtune db merge [OPTIONS] FILE"));
  EXPECT_THAT(refusal_of({"explain", "1024"}), HasSubstr("'1024' is not expected here; write --size 1024"));
  EXPECT_THAT(refusal_of({"completion", "tcsh"}), AllOf(HasSubstr("SHELL 'tcsh'"), HasSubstr("bash, zsh, fish")));
}

TEST(Verbs, ChoicesMayBeWrittenInCapitals) {
  Toy toy;
  EXPECT_EQ(toy.read({"--choice", "TWO"}), "");
  EXPECT_EQ(toy.choice, "two");
}

TEST(Verbs, NumbersThatDoNotFitAreRefused) {
  for (const auto* text : {"1", "6", "-3", "+3", "3.0", "0x3", " 3", "3 ", "", "4294967299", "x"}) {
    EXPECT_THAT(Toy().read({"--number", text}), AllOf(HasSubstr("--number"), HasSubstr("from 2 to 5"))) << text;
  }
  for (const auto* text : {"-1", "18446744073709551616", "1e3", "99999999999999999999999"}) {
    EXPECT_THAT(Toy().read({"--seed", text}), AllOf(HasSubstr("--seed"), HasSubstr(text), HasSubstr("--help"))) << text;
  }
}

TEST(Verbs, EmptyFileNameIsRefused) {
  EXPECT_THAT(Toy().read({"--file", ""}), AllOf(HasSubstr("--file ''"), HasSubstr("write a path")));
}

TEST(Verbs, RepeatedOptionIsRefusedUnlessItMayBe) {
  EXPECT_THAT(Toy().read({"--text", "a", "--text", "b"}), HasSubstr("--text"));
  EXPECT_THAT(Toy().read({"--word", "a", "b"}), HasSubstr("b"));
}

TEST(Verbs, UnknownChoiceIsListedWithTheKnownOnes) {
  EXPECT_THAT(Toy().read({"--choice", "three"}), AllOf(HasSubstr("'three'"), HasSubstr("one, two")));
}

}  // namespace
}  // namespace mmtune
