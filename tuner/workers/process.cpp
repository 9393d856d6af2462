#include "tuner/workers/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "runtime/base/log.h"

extern char** environ;

namespace mmtune {
namespace {

constexpr auto kLongestDeath = std::chrono::seconds(30);

std::string describe(int status) {
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return fmt::format("it exited with code {}", WEXITSTATUS(status));
}

/// How the child starts: its files, a process group of its own, and without the signals that ask a run to end. Engines
/// such as Slurm send SIGTERM to every process of a run, which is for the run to answer.
class SpawnSetup {
 public:
  explicit SpawnSetup(int channel) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, channel, kChannelDescriptor);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files_, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t of_run;
    sigemptyset(&of_run);
    sigaddset(&of_run, SIGINT);
    sigaddset(&of_run, SIGTERM);
    posix_spawnattr_setsigmask(&attributes_, &of_run);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Process::Process(const std::string& program, const std::vector<std::string>& arguments, int channel) {
  std::vector<std::string> words{"mmtune"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const SpawnSetup setup(channel);
  const int error = posix_spawn(&id_, program.c_str(), setup.files(), setup.attributes(), argv.data(), environ);
  if (error != 0) {
    throw Error(fmt::format("no worker can be started from {}: {}; raise the limits of processes and memory", program,
                            std::strerror(error)));
  }
}

Process::~Process() {
  if (ended_) return;
  try {
    end({});
  } catch (const std::exception& error) {
    log::warning("{}", error.what());
  }
}

bool Process::ended_within(std::chrono::milliseconds time, int& status) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  while (true) {
    const pid_t gone = waitpid(id_, &status, WNOHANG);
    if (gone != 0) return true;  // This is true also where other code has waited for it.
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string Process::end(std::chrono::milliseconds grace) {
  ended_ = true;
  int status = 0;
  if (ended_within(grace, status)) return describe(status);
  kill(id_, SIGKILL);
  if (ended_within(kLongestDeath, status)) return describe(status);
  throw DeviceLostError(fmt::format("process {} does not end when killed: the driver holds it; reset the GPU", id_));
}

void stay_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

void give_way() {
  constexpr int kNiceness = 10;
  setpriority(PRIO_PROCESS, 0, std::max(kNiceness, getpriority(PRIO_PROCESS, 0)));
}

void limit_memory(std::int64_t more_bytes) {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more_bytes));
  setrlimit(RLIMIT_AS, &limit);
}

}  // namespace mmtune
