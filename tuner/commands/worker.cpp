// mmtune worker, which only mmtune starts: the process in which candidates are compiled and run.
#include "tuner/workers/worker.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tuner/commands/commands.h"

namespace mmtune {

void add_worker(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<std::vector<std::string>>();
  auto& verb = *app.add_subcommand("worker", "Work for another mmtune, which starts this itself")->group("");
  verb.add_option("arguments", *arguments);
  verb.callback([arguments, &action] {
    action = [arguments] {
      run_worker(*arguments, real_parts());
      return ExitCode::done;
    };
  });
}

}  // namespace mmtune
