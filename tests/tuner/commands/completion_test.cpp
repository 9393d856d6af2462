// What shells complete, and the manual page: generated, and read by those that they are for.
#include "tuner/commands/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/tuner/cli_fixture.h"
#include "tuner/commands/manual_page.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Completion : public Cli {
 protected:
  /// Writes the script and returns where.
  std::string script(const std::string& shell) const {
    std::ofstream(path(shell)) << completion_script(shell, verbs());
    return path(shell);
  }

  /// What bash offers for the last of these words, which may be empty.
  std::string offered(const std::string& words) const {
    return shell(
               fmt::format("bash -c 'source \"$0\"; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _mmtune; "
                           "echo \"${{COMPREPLY[*]}}\"' '{}'",
                           words, script("bash")))
        .out;
  }
};

TEST_F(Completion, BashOffersVerbsOptionsAndValues) {
  EXPECT_THAT(offered("mmtune \"\""), AllOf(HasSubstr("tune"), HasSubstr("db"), Not(HasSubstr("worker"))));
  EXPECT_EQ(offered("mmtune ren"), "render\n");
  EXPECT_EQ(offered("mmtune tune --eff"), "--effort\n");
  EXPECT_EQ(offered("mmtune --eff"), "--effort\n") << "without a verb";
  EXPECT_EQ(offered("mmtune tune --sizes 64 --effort \"\""), "quick default full\n");
  EXPECT_EQ(offered("mmtune --device 0 --strategy gui"), "guided\n");
  EXPECT_EQ(offered("mmtune explain --device model : h20"), "h200\n") << "the colon is a word for bash";
  EXPECT_THAT(offered("mmtune tune --device model :"), AllOf(HasSubstr("t4"), Not(HasSubstr("model"))));
  EXPECT_EQ(offered("mmtune tune --device = model : h20"), "h200\n");
  EXPECT_EQ(offered("mmtune tune --family mma"), "mma_fp16x3 mma_sync\n");
  EXPECT_EQ(offered("mmtune db \"\""), "check merge export prune\n");
  EXPECT_EQ(offered("mmtune db prune --dry"), "--dry-run\n");
  EXPECT_EQ(offered("mmtune completion f"), "fish\n");
  std::ofstream(path("some.db"));
  EXPECT_EQ(offered(fmt::format("mmtune show --db {}", path("some"))), path("some.db") + '\n');
}

TEST_F(Completion, ShellsCanReadTheirScripts) {
  for (const std::string& name : shells()) {
    const auto result = shell(fmt::format("command -v {0} > /dev/null || exit 77; {0} -n '{1}'", name, script(name)));
    EXPECT_TRUE(result.code == 0 || result.code == 77) << name << ": " << result.err;
    EXPECT_EQ(result.err, "") << name;
  }
}

TEST_F(Completion, EveryVerbAndOptionIsThere) {
  for (const std::string& name : shells()) {
    const auto text = completion_script(name, verbs());
    for (const Verb& verb : verbs()) {
      for (const Option& option : verb.options) {
        if (is_argument(option)) continue;
        const auto word = name == "fish" ? "-l " + name_of(option).substr(2) : name_of(option);
        EXPECT_THAT(text, HasSubstr(word)) << name << ' ' << verb.name;
      }
    }
  }
}

TEST_F(Completion, ManualIsRightForItsReader) {
  const auto text = manual_page(verbs(), "1.2.3");
  for (const Verb& verb : verbs()) {
    if (verb.group == VerbGroup::hidden) continue;
    EXPECT_THAT(text, HasSubstr(fmt::format("\n.SS {}", verb.name)));
    for (const std::string& example : verb.examples) EXPECT_NE(example, "");
  }
  EXPECT_THAT(text, AllOf(HasSubstr("\\fB\\-\\-effort\\fR \\fINAME\\fR"), HasSubstr("\n\\fB130\\fR\n"),
                          HasSubstr("MMTUNE_DB")));
  std::ofstream(path("page.1")) << text;
  const auto result =
      shell(fmt::format("command -v groff > /dev/null || exit 77; groff -k -man -Tutf8 -ww '{}'", path("page.1")));
  EXPECT_TRUE(result.code == 0 || result.code == 77) << result.err;
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace mmtune
