// The program mmtune: reads the command line, runs one verb, maps what went wrong to an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "db/write_gate.h"
#include "runtime/base/log.h"
#include "tuner/commands/command_line.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

ExitCode run(const std::vector<std::string>& arguments) {
  const auto version = fmt::format("mmtune {} ({})", build_version(), build_commit());
  return parse_command_line(verbs(), version, arguments)();
}

/// A file that the program opens must not get the number of a stream that it was started without: what is logged would
/// be written to it. What is printed fails then, as it should.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_closed = fcntl(stream, F_GETFD) == -1;
    if (is_closed) open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// The only place that knows which exit code an exception means.
ExitCode guarded_run(const std::vector<std::string>& arguments) {
  const auto failed = [](const std::exception& error, ExitCode code) {
    log::error("{}", error.what());
    return code;
  };
  try {
    return run(arguments);
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
  mmtune::fill_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // A write beyond the limit on file sizes (ulimit -f) fails like one to a full disk.
  std::signal(SIGPIPE, SIG_IGN);  // A line on stderr that nothing reads any more is lost, and not the run.
  mmtune::stop_between_writes();
  return static_cast<int>(mmtune::guarded_run(std::vector<std::string>(argv + 1, argv + argc)));
}
