// The verb `worker` of a program for tests only: the GPU and the compiler are pretended, with the faults of
// MMTUNE_TEST_FAULTS.
#include "tuner/workers/worker.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/tuner/faulty_worker.h"
#include "tuner/commands/commands.h"

namespace mmtune {

void add_worker(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<std::vector<std::string>>();
  auto& verb = *app.add_subcommand("worker")->group("");
  verb.add_option("arguments", *arguments);
  verb.callback([arguments, &action] {
    action = [arguments] {
      const char* faults = std::getenv("MMTUNE_TEST_FAULTS");
      run_worker(*arguments, test::faulty_parts(faults == nullptr ? "" : faults));
      return ExitCode::done;
    };
  });
}

}  // namespace mmtune
