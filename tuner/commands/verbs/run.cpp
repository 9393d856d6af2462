// mmtune run: a program whose products mmtune computes where it is faster than cuBLAS.
#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>

#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/base/whole_rows.h"
#include "runtime/call/call_record.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/text/cublas_calls.h"
#include "tuner/workers/process.h"

extern char** environ;

namespace mmtune {
namespace {

constexpr std::string_view kStandIn = "libmmtune_cublas.so";

struct RunOptions : Options {
  std::string record;
  double tune_s = 0;  ///< how long what the program multiplied is tuned afterwards
  std::vector<std::string> program;
};

/// The file of the stand-in beside this program, as it was built, or where both are installed. Throws Error.
std::string stand_in_file() {
  const auto folder = std::filesystem::read_symlink(kThisProgram).parent_path();
  for (const char* place : {"", "../lib", "../" MMTUNE_LIBRARY_FOLDER, "../lib64"}) {
    const auto file = (folder / place / kStandIn).lexically_normal();
    if (std::filesystem::exists(file)) return file.string();
  }
  throw Error(fmt::format("{} is neither in {} nor in the libraries' folder beside it; install it there", kStandIn,
                          folder.string()));
}

/// The stand-in by a name for the loader's list, whose names end with a space or a colon: a link in this folder where
/// its own has one. Throws Error.
std::string loadable_stand_in(const TemporaryDirectory& folder) {
  const auto ends_early = [](const std::string& path) { return path.find_first_of(" :") != std::string::npos; };
  const std::string file = stand_in_file();
  if (!ends_early(file)) return file;
  const std::string link = folder.file(std::string(kStandIn));
  if (ends_early(link)) {
    throw Error(fmt::format("{}: the loader takes no path with a space or a colon; set TMPDIR to one without", link));
  }
  std::filesystem::create_symlink(file, link);
  return link;
}

/// The environment of this process with some variables set anew.
class SpawnEnvironment {
 public:
  SpawnEnvironment() {
    for (char** each = environ; *each != nullptr; ++each) texts_.emplace_back(*each);
  }
  void set(const std::string& name, const std::string& value) {
    std::erase_if(texts_, [&](const std::string& text) { return text.starts_with(name + '='); });
    texts_.push_back(name + '=' + value);
  }
  /// Puts a value in front of those that a list has.
  void put_first(const std::string& name, std::string value) {
    for (const std::string& text : texts_) {
      if (text.starts_with(name + '=') && text.size() > name.size() + 1) value += ':' + text.substr(name.size() + 1);
    }
    set(name, value);
  }
  std::vector<char*> pointers() { return pointers_of(texts_); }

  static std::vector<char*> pointers_of(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }

 private:
  std::vector<std::string> texts_;
};

volatile std::sig_atomic_t child_process = 0;

/// What asks this process to end is for the program; the terminal's Ctrl-C reaches it by itself.
class Signals {
 public:
  Signals() {
    struct sigaction forward = {};
    forward.sa_handler = [](int number) {
      if (child_process != 0) kill(static_cast<pid_t>(child_process), number);
    };
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGTERM, &forward, nullptr);
    sigaction(SIGHUP, &forward, nullptr);
    sigaction(SIGINT, &ignore, nullptr);
    sigaction(SIGQUIT, &ignore, nullptr);
  }
};

enum class Stdout { inherited, stderr };

/// Starts the program with the signals as any program has them. Throws Error.
pid_t start(std::vector<std::string> program, SpawnEnvironment environment, Stdout output = Stdout::inherited) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ, SIGPIPE, SIGTSTP}) sigaddset(&usual, number);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t process = 0;
  const auto arguments = SpawnEnvironment::pointers_of(program);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (output == Stdout::stderr) posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  const int failure = posix_spawnp(&process, program.front().c_str(), &files, &attributes, arguments.data(),
                                   environment.pointers().data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    throw UsageError(fmt::format("program '{}' cannot be started: {}; check its path and rights", program.front(),
                                 std::strerror(failure)));
  }
  return process;
}

/// The exit code as a shell has it.
int exit_code_of(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// The environment of the program and of the tuner: both use the same databases, wherever the program goes.
SpawnEnvironment environment_of(const RunOptions& options) {
  SpawnEnvironment environment;
  for (const char* name : {"MMTUNE_DB", "MMTUNE_SYSTEM_DB"}) {
    if (const auto file = env::get_path(name)) environment.set(name, *file);
  }
  if (!options.database.empty()) environment.set("MMTUNE_DB", env::absolute_path(options.database));
  return environment;
}

/// Tunes what was recorded, the products that take most time first, and compares it with cuBLAS, also where some sizes
/// got no kernel: two runs of this program, whose tables go to stderr. The exit code of the first that failed.
int tune(const RunOptions& options, const std::string& calls) {
  const std::string sizes = "@" + calls;
  const auto run = [&](std::vector<std::string> command) {
    child_process = start(std::move(command), environment_of(options), Stdout::stderr);
    return exit_code_of(static_cast<pid_t>(child_process));
  };
  const int tuned = run({kThisProgram, "tune", "--sizes", sizes, "--budget", fmt::format("{}s", options.tune_s)});
  if (tuned != 0 && tuned != static_cast<int>(ExitCode::no_candidate)) return tuned;
  const int compared = run({kThisProgram, "bench", "--sizes", sizes});
  return tuned != 0 ? tuned : compared;
}

bool has_rows(const std::string& calls) {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(calls, missing);
  return !missing && bytes > kRecordHeading.size() + 1;
}

ExitCode run(const RunOptions& options) {
  // The program writes its record when it ends, perhaps after hours: what could not be written is refused now.
  if (!options.record.empty()) append_whole_rows("--record", options.record, kRecordHeading, "");
  const TemporaryDirectory folder;
  const std::string report = folder.file("report.csv");
  std::string calls = options.record;
  if (calls.empty() && options.tune_s > 0) calls = folder.file("calls.csv");
  SpawnEnvironment environment = environment_of(options);
  environment.put_first("LD_PRELOAD", loadable_stand_in(folder));
  environment.set("MMTUNE_CUBLAS_REPORT", report);
  if (!calls.empty()) environment.set("MMTUNE_RECORD", env::absolute_path(calls));
  const Signals signals;
  child_process = start(options.program, std::move(environment));
  const int code = exit_code_of(static_cast<pid_t>(child_process));
  for (const std::string& line : summary_of(read_cublas_calls(report))) log::warning("{}", line);
  if (options.tune_s > 0 && has_rows(calls)) {
    const int failure = tune(options, calls);
    if (code == 0) return static_cast<ExitCode>(failure);
  }
  return static_cast<ExitCode>(code);
}

}  // namespace

Verb mmtune_verb_run() {
  auto options = std::make_shared<RunOptions>();
  Verb verb{.name = "run",
            .group = VerbGroup::results,
            .help = "Run a program that calls cuBLAS, with mmtune's kernels where they are faster",
            .examples = {"mmtune run -- python3 train.py", "mmtune run --tune 5m -- python3 train.py",
                         "mmtune run --record calls.csv -- ./application --steps 10"},
            .run = [options] { return run(*options); }};
  verb.add("Program", {{.names = "program",
                        .value = "-- PROGRAM",
                        .help = "what to run, with its arguments; its exit code is that of this command",
                        .target = texts_target(options->program),
                        .required = true,
                        .repeatable = true},
                       {"--record", "FILE", "add the shapes of its products to this file, for tune --sizes @FILE",
                        file_target(options->record)},
                       {"--tune", "TIME",
                        "when it has ended, tune what it multiplied for this time and compare with cuBLAS; the "
                        "next run is served",
                        duration_target(options->tune_s)},
                       database_option(*options)});
  add_log_options(verb);
  return verb;
}

}  // namespace mmtune
