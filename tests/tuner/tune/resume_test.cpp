// A run that is stopped, politely or not, loses nothing that it finished: the next one goes on from there. The program
// and its database are real; the GPU is a model, or in the suite GpuResume the first one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "db/store.h"
#include "test_paths.h"
#include "tests/runtime/support.h"
#include "tests/templates/family/settings.h"
#include "tests/tuner/cli_fixture.h"
#include "tests/tuner/faults_fixture.h"
#include "tests/tuner/gpu_memory.h"

namespace mmtune {
namespace {

using testing::IsEmpty;
using testing::IsSupersetOf;

constexpr const char* kArguments[] = {"tune",       "--family",   "tiled",    "--effort", "full",
                                      "--strategy", "exhaustive", "--format", "csv",      "-vv"};
const std::string kOthers = test::others_at_default("tiled", {"TILE", "UNROLL"});
const std::size_t kTrialsPerSize = test::candidate_count("tiled", kOthers);

/// How often the program is killed: a few times, or MMTUNE_TEST_KILLS for a thorough run.
int kills() {
  const char* text = std::getenv("MMTUNE_TEST_KILLS");
  return text == nullptr ? 5 : std::atoi(text);
}

using Clock = std::chrono::steady_clock;

/// What a run was doing when it was killed.
enum class Phase { starting, trials, deciding, decided };

const std::map<Phase, const char*> kPhases = {
    {Phase::starting, "before the first trial"},
    {Phase::trials, "among the trials of a problem"},
    {Phase::deciding, "between a problem's last trial and its decision"},
    {Phase::decided, "between problems, or after the last"},
};

/// "fp32 nn 64x64x64: tiled TILE=16 UNROLL=4 …": a trial as the log names it.
using Trials = std::set<std::string>;

class Resume : public Cli {
 protected:
  void SetUp() override {
    adopt_orphans();
    if (const auto why = test::why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
  }

  /// Starts the program; its stderr goes to a file.
  pid_t start(const std::string& err_file = "stderr") const {
    std::vector<std::string> words{MMTUNE_BINARY};
    words.insert(words.end(), std::begin(kArguments), std::end(kArguments));
    words.insert(words.end(), {"--only", kOthers, "--device", device_, "--sizes", fmt::format("8..{}:8", 8 * sizes_)});
    words.insert(words.end(), {"--jobs", jobs_, "--db", path("default.db")});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string out = path("stdout"), err = path(err_file);
    std::filesystem::remove(err);  // The file of the run before says nothing of this one.
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

  /// Waits until so many trials are begun, or the program has ended by itself, then signals.
  int stop(pid_t child, std::size_t begun, int signal) const {
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (judged().size() >= begun) {
        kill(child, signal);
        return status_of(child);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status;
  }

  /// The database; none where a kill left no file, or one with nothing in it.
  std::optional<Store> database() const {
    if (!std::filesystem::exists(path("default.db"))) return std::nullopt;
    try {
      return Store::open(path("default.db"), OpenMode::read_only);
    } catch (const DatabaseError& error) {
      if (std::string_view(error.what()).find(": empty; ") == std::string_view::npos) throw;
      return std::nullopt;
    }
  }

  Trials stored() const {
    Trials found;
    auto store = database();
    for (const Trial& trial : store ? store->trials() : std::vector<Trial>()) {
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

  std::size_t all() const { return static_cast<std::size_t>(sizes_) * kTrialsPerSize; }

  void expect_sound() const {
    if (auto store = database()) {
      EXPECT_THAT(store->check().faults, IsEmpty());
    }
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

  void start_from_nothing() const { std::filesystem::remove(path("default.db")); }

  /// How long a run takes that finds nothing.
  Clock::duration whole_run() const {
    start_from_nothing();
    const auto begin = Clock::now();
    finish({});
    return Clock::now() - begin;
  }

  /// Kills the program that long after its start, unless it ends before. What waitpid says of it.
  static int kill_after(Clock::duration moment, pid_t child) {
    const auto end = Clock::now() + moment;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (Clock::now() >= end) {
        kill(child, SIGKILL);
        return status_of(child);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return status;
  }

  /// Where the last run was killed. A problem is begun when the one before is decided.
  Phase phase() const {
    std::set<std::string> decided;
    auto store = database();
    for (const Winner& winner : store ? store->winners() : std::vector<Winner>()) {
      decided.insert(to_string(winner.trial.key.problem));
    }
    const Trials begun = judged(), known = stored();
    for (const std::string& trial : begun) {
      const std::string problem = trial.substr(0, trial.find(": "));
      if (decided.contains(problem)) continue;
      const auto count = std::count_if(known.begin(), known.end(),
                                       [&](const std::string& each) { return each.starts_with(problem + ": "); });
      return static_cast<std::size_t>(count) < kTrialsPerSize ? Phase::trials : Phase::deciding;
    }
    return begun.empty() ? Phase::starting : Phase::decided;
  }

  /// Kills at moments spread evenly over the time of a whole run, each time going on with what is there, and from
  /// nothing when a run came to its end. Returns the kills of each phase. More kills than kills() only where luck had
  /// all of them miss the trials.
  std::map<Phase, int> kill_and_go_on() const {
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(whole_run());
    std::mt19937_64 random(1);
    std::uniform_int_distribution<std::int64_t> moment(0, whole.count());
    std::map<Phase, int> kills_in;
    start_from_nothing();
    const auto wants_more = [&](int fallen) {
      return fallen < kills() || (!kills_in.contains(Phase::trials) && fallen < 10 * kills());
    };
    for (int fallen = 0; wants_more(fallen) && !HasFailure();) {
      const Trials before = stored();
      const int status = kill_after(std::chrono::microseconds(moment(random)), start());
      expect_no_process_left();
      const Trials begun = judged();
      EXPECT_THAT(both(before, begun), IsEmpty());
      if (WIFEXITED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), 0) << content(path("stderr"));
        EXPECT_EQ(stored().size(), all());
        start_from_nothing();
        continue;
      }
      expect_sound();
      EXPECT_GE(both(begun, stored()).size() + 1, begun.size());
      ++kills_in[phase()];
      ++fallen;
    }
    finish(stored());
    for (const auto& [phase, count] : kills_in) fmt::print("{} kills {}\n", count, kPhases.at(phase));
    return kills_in;
  }

  std::string device_ = "model:h200";
  std::string jobs_ = "2";
  int sizes_ = 6;
};

/// The same on a GPU, with fewer sizes, so that many kills take minutes.
class GpuResume : public Resume {
 protected:
  void SetUp() override {
    if (const auto why = test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    memory_.emplace();
    Resume::SetUp();
    device_ = "0";
    jobs_ = "8";
    sizes_ = 4;
  }

  std::optional<test::GpuMemory> memory_;
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

TEST_F(Resume, ASignalToAllProcessesBlamesNoCandidate) {
  const pid_t child = start();
  while (judged().size() < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto workers = test::children_of(child);
  EXPECT_FALSE(workers.empty());
  for (const auto& worker : workers) kill(worker.id, SIGTERM);
  const int status = stop(child, 30, SIGTERM);  // later, so that what became of the workers is known
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 130) << content(path("stderr"));
  for (const Trial& trial : database()->trials()) EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
  finish(stored());
}

TEST_F(Resume, KillLosesAtMostTheCandidateInFlight) {
  const auto kills_in = kill_and_go_on();
  EXPECT_TRUE(kills_in.contains(Phase::trials));
}

TEST_F(GpuResume, KillLosesAtMostTheCandidateInFlight) {
  const auto kills_in = kill_and_go_on();
  memory_->expect_given_back();
  EXPECT_TRUE(kills_in.contains(Phase::trials));
  if (kills() >= 100) {
    EXPECT_TRUE(kills_in.contains(Phase::deciding)) << "no kill hit a race";
  }
}

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
