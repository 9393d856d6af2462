// mmtune manual: the page for man.
#include "tuner/commands/manual_page.h"
#include "tuner/commands/options.h"
#include "tuner/text/files.h"
#include "tuner/version.h"

namespace mmtune {

Verb mmtune_verb_manual() {
  Verb verb{.name = "manual",
            .group = VerbGroup::inspection,
            .help = "Print the manual page, for man",
            .examples = {"mmtune manual > ~/.local/share/man/man1/mmtune.1"},
            .run = [] {
              print_out(manual_page(verbs(), build_version()));
              return ExitCode::done;
            }};
  add_log_options(verb);
  return verb;
}

}  // namespace mmtune
