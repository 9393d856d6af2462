// mmtune completion: teach a shell the verbs and options.
#include "tuner/commands/completion.h"

#include <memory>

#include "tuner/commands/options.h"
#include "tuner/text/files.h"

namespace mmtune {

Verb mmtune_verb_completion() {
  auto shell = std::make_shared<std::string>("bash");
  Verb verb{.name = "completion",
            .group = VerbGroup::inspection,
            .help = "Print what teaches a shell to complete verbs and options",
            .examples = {"mmtune completion bash > ~/.local/share/bash-completion/completions/mmtune",
                         "mmtune completion zsh > ~/.zfunc/_mmtune",
                         "mmtune completion fish > ~/.config/fish/completions/mmtune.fish"},
            .run = [shell] {
              print_out(completion_script(*shell, verbs()));
              return ExitCode::done;
            }};
  verb.add("Options", {required({"shell", "SHELL", "which", choice_target(*shell, shells())})});
  add_log_options(verb);
  return verb;
}

}  // namespace mmtune
