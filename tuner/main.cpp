// The program mmtune: reads the command line, runs one verb, maps what went wrong to an exit code.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/log.h"
#include "tuner/commands/commands.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

bool is_program_option(const std::string& argument) {
  return argument == "-h" || argument == "--help" || argument == "--version";
}

/// `mmtune --sizes …` means `mmtune tune --sizes …`. Also finds words that are no verb.
std::vector<std::string> with_verb(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> verbs;
  std::vector<std::string> hidden;
  for (const auto* verb : app.get_subcommands({}))
    (verb->get_group().empty() ? hidden : verbs).push_back(verb->get_name());
  const auto known = fmt::format("{}", fmt::join(verbs, ", "));
  if (arguments.empty()) throw UsageError(fmt::format("no verb given; write one of {}, or --help", known));
  const auto& first = arguments.front();
  const auto names = [&first](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), first) != list.end();
  };
  if (is_program_option(first) || names(verbs) || names(hidden)) return arguments;
  if (!first.starts_with('-')) throw UsageError(fmt::format("unknown verb '{}'; write one of {}", first, known));
  std::vector<std::string> completed{"tune"};
  completed.insert(completed.end(), arguments.begin(), arguments.end());
  return completed;
}

/// The command whose help explains a parse error: "mmtune db prune".
std::string command_path(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app.get_name() : fmt::format("{} {}", app.get_name(), command_path(*chosen.front()));
}

ExitCode run(std::vector<std::string> arguments) {
  CLI::App app("Finds the fastest matrix-multiplication kernel for each size on a GPU and remembers it", "mmtune");
  app.set_version_flag("--version", fmt::format("mmtune {} ({})", build_version(), build_commit()));
  app.footer("mmtune --device auto --sizes 256..8192 is short for mmtune tune --device auto --sizes 256..8192");
  Action action;
  for (const auto add : kVerbs) add(app, action);
  arguments = with_verb(app, arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return static_cast<ExitCode>(app.exit(error));  // --help, --version
    throw UsageError(fmt::format("{}; see {} --help", error.what(), command_path(app)));
  }
  return action();
}

/// Output that never arrived, say on a full disk, must not look like success.
ExitCode flushed(ExitCode code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  throw Error("standard output: cannot be written; check the disk or the program it is piped to");
}

/// The only place that knows which exit code an exception means.
ExitCode guarded_run(std::vector<std::string> arguments) {
  const auto failed = [](const std::exception& error, ExitCode code) {
    log::error("{}", error.what());
    return code;
  };
  try {
    return flushed(run(std::move(arguments)));
  } catch (const UsageError& error) {
    return failed(error, ExitCode::usage);
  } catch (const DeviceLostError& error) {
    return failed(error, ExitCode::device_lost);
  } catch (const DeviceError& error) {
    return failed(error, ExitCode::no_device);
  } catch (const OutOfMemoryError& error) {
    return failed(error, ExitCode::no_candidate);
  } catch (const DatabaseError& error) {
    return failed(error, ExitCode::database);
  } catch (const std::exception& error) {
    return failed(error, ExitCode::internal_error);
  }
}

}  // namespace
}  // namespace mmtune

int main(int argc, char** argv) {
  // A write beyond the limit on file sizes (ulimit -f) then fails like one to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  return static_cast<int>(mmtune::guarded_run(std::vector<std::string>(argv + 1, argv + argc)));
}
