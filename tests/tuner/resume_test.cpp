// A run that is stopped, politely or not, loses nothing that it finished: the next one goes on from there. The program
// and its database are real; the GPU is a model, or in the suite GpuResume the first one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "db/store.h"
#include "runtime/nvrtc.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using testing::IsEmpty;
using testing::IsSupersetOf;

constexpr const char* kArguments[] = {"tune",       "--family", "tiled", "--effort", "full", "--strategy",
                                      "exhaustive", "--jobs",   "2",     "--format", "csv",  "-vv"};
constexpr int kTrialsPerSize = 21;

/// How often the program is killed: a few times, or MMTUNE_TEST_KILLS for a thorough run.
int kills() {
  const char* text = std::getenv("MMTUNE_TEST_KILLS");
  return text == nullptr ? 5 : std::atoi(text);
}

/// "fp32 nn 64x64x64: tiled TILE=16 UNROLL=4": a trial as the log names it.
using Trials = std::set<std::string>;

class Resume : public Cli {
 protected:
  void SetUp() override {
    adopt_orphans();
    try {
      Nvrtc::load();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Starts the program; its stderr goes to a file.
  pid_t start(const std::string& err_file = "stderr") const {
    std::vector<std::string> words{MMTUNE_BINARY};
    words.insert(words.end(), std::begin(kArguments), std::end(kArguments));
    words.insert(words.end(), {"--device", device_, "--sizes", fmt::format("8..{}:8", 8 * sizes_)});
    words.insert(words.end(), {"--db", path("default.db")});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string out = path("stdout"), err = path(err_file);
    std::filesystem::remove(err);  // that of the run before says nothing of this one
    const pid_t child = fork();
    if (child != 0) return child;
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    dup2(open(out.c_str(), kFlags, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), kFlags, 0600), STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  /// What waitpid says of a process that is expected to end.
  static int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  /// Waits until so many trials are begun and a while more, or the program has ended by itself, then signals.
  int stop(pid_t child, std::size_t begun, int signal, std::chrono::microseconds more = {}) const {
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (judged().size() >= begun) {
        std::this_thread::sleep_for(more);
        kill(child, signal);
        return status_of(child);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status;
  }

  Trials stored() const {
    Trials found;
    if (!std::filesystem::exists(path("default.db"))) return found;
    for (const Trial& trial : Store::open(path("default.db"), OpenMode::read_only).trials()) {
      found.insert(fmt::format("{}: {} {}", to_string(trial.key.problem), trial.key.family, trial.key.config));
    }
    return found;
  }

  /// What the last run began to judge, once each; with a failure for what it judged twice.
  Trials judged() const {
    Trials found;
    std::ifstream log(path("stderr"));
    const std::string prefix = "mmtune: ";
    for (std::string line; std::getline(log, line);) {
      if (!line.starts_with(prefix) || line.find(": tiled TILE=") == line.npos || log.eof()) continue;
      EXPECT_TRUE(found.insert(line.substr(prefix.size())).second) << "judged twice: " << line;
    }
    return found;
  }

  static Trials both(const Trials& x, const Trials& y) {
    Trials common;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::inserter(common, common.end()));
    return common;
  }

  std::size_t all() const { return static_cast<std::size_t>(sizes_ * kTrialsPerSize); }

  void expect_sound() const {
    EXPECT_THAT(Store::open(path("default.db"), OpenMode::read_only).check().faults, IsEmpty());
  }

  /// Runs to the end, where everything is known.
  void finish(const Trials& before) const {
    const int status = status_of(start());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << content(path("stderr"));
    EXPECT_THAT(both(before, judged()), IsEmpty());
    EXPECT_EQ(stored().size(), all());
    expect_sound();
    expect_no_process_left();
  }

  /// Kills at random moments, then lets it finish.
  void kill_and_go_on() const {
    std::mt19937 random(1);
    for (int i = 0; i < kills(); ++i) {
      const Trials before = stored();
      const pid_t child = start();
      const auto most_begun = static_cast<unsigned>(all() - before.size()) / 20 + 1;
      const int status = stop(child, random() % most_begun, SIGKILL, std::chrono::microseconds(random() % 20'000));
      ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << content(path("stderr"));
      expect_no_process_left();
      const Trials begun = judged();
      EXPECT_THAT(both(before, begun), IsEmpty());
      if (!std::filesystem::exists(path("default.db"))) continue;
      expect_sound();
      EXPECT_GE(both(begun, stored()).size() + 1, begun.size());
    }
    finish(stored());
  }

  std::string device_ = "model:h200";
  int sizes_ = 20;
};

/// The same on a GPU, with fewer sizes.
class GpuResume : public Resume {
 protected:
  void SetUp() override {
    if (const auto why = test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    Resume::SetUp();
    device_ = "0";
    sizes_ = 12;
  }
};

TEST_F(Resume, CtrlCSavesAndTheNextRunGoesOn) {
  for (const std::size_t enough : {2, 30}) {
    const Trials before = stored();
    const int status = stop(start(), enough, SIGINT);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 130) << content(path("stderr"));
    expect_sound();
    EXPECT_THAT(both(before, judged()), IsEmpty());
    EXPECT_THAT(stored(), IsSupersetOf(judged())) << "what was judged is stored";
  }
  const Trials before = stored();
  EXPECT_LT(before.size(), all());
  finish(before);
}

TEST_F(Resume, KillLosesAtMostTheCandidateInFlight) { kill_and_go_on(); }

TEST_F(GpuResume, KillLosesAtMostTheCandidateInFlight) { kill_and_go_on(); }

TEST_F(Resume, TwoTunersOnOneDatabaseLoseNothing) {
  sizes_ = 10;
  const pid_t children[] = {start("first"), start("second")};
  for (const pid_t child : children) {
    const int status = status_of(child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << content(path("first")) << content(path("second"));
  }
  finish(stored());
  EXPECT_THAT(judged(), IsEmpty()) << "they left nothing to do";
}

}  // namespace
}  // namespace mmtune
