// The program mmtune: reads the command line, runs one verb, maps what went wrong to an exit code.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "runtime/log.h"
#include "tuner/commands/command_line.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

ExitCode run(std::vector<std::string> arguments) {
  const auto version = fmt::format("mmtune {} ({})", build_version(), build_commit());
  return parse_command_line(verbs(), version, std::move(arguments))();
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
