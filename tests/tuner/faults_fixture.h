// Whole runs of the tuner, in this process or in one of its own, whose workers have faults.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "db/store.h"
#include "templates/family/families.h"
#include "templates/space/space.h"
#include "test_paths.h"
#include "tests/runtime/support.h"
#include "tests/templates/family/settings.h"
#include "tests/tuner/faulty_worker.h"
#include "tuner/tune/preparation.h"
#include "tuner/tune/session.h"

namespace mmtune::test {

/// A process as /proc/ID/stat has it.
struct ProcessLine {
  pid_t id = 0;
  pid_t parent = 0;
  char state = '?';
};

/// Nothing if it is no more, or only waits to be noticed by its parent.
inline std::optional<ProcessLine> look_at(pid_t id) {
  std::ifstream file(fmt::format("/proc/{}/stat", id));
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  ProcessLine line{id, 0, '?'};
  std::istringstream(text.substr(text.rfind(')') + 1)) >> line.state >> line.parent;
  return line;
}

inline std::vector<ProcessLine> children_of(pid_t parent) {
  std::vector<ProcessLine> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const auto line = look_at(std::stoi(name));
    if (line && line->parent == parent) children.push_back(*line);
  }
  return children;
}

class FaultsTest : public testing::Test {
 protected:
  FaultsTest()
      : folder_(memory_folder() /
                fmt::format("mmtune_{}_{}", testing::UnitTest::GetInstance()->current_test_info()->name(), getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  }
  ~FaultsTest() override {
    std::filesystem::remove_all(folder_);
    for (int i = 0; i < 4; ++i) std::filesystem::remove(fmt::format("/tmp/mmtune-{}.lock", gpu_uuid(i)));
    EXPECT_TRUE(children_of(getpid()).empty()) << "a process was left behind";
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Configurations of `tiled` with all values of TILE and UNROLL, for one small problem, on the pretended GPU.
  SessionOptions options() const {
    SessionOptions options;
    options.devices = {{pretended_gpu(), 0}};
    options.devices[0].spec.uuid = gpu_uuid(0);
    options.problems = {small_problem()};
    options.database = path("test.db");
    options.families = {"tiled"};
    options.only = only("");
    options.strategy = "exhaustive";
    options.jobs = 2;
    options.compile_limit_s = options.launch_limit_s = 1;
    return options;
  }

  /// Measures all candidates of options().
  SessionOptions listed() const {
    SessionOptions session = options();
    session.mode = SessionMode::measure([only = session.only](const Problem& problem) {
      std::vector<Candidate> all;
      const Family& family = family_named("tiled");
      for (const Config& config : SearchSpace(family, problem, pretended_gpu(), only).all()) {
        all.push_back({&family, config});
      }
      return all;
    });
    return session;
  }

  /// These values of TILE and UNROLL; what else `tiled` has is at its default.
  static Restriction only(const std::string& values) { return parse_restriction(values + ' ' + kOthers); }

  /// How many there are of options().
  static std::size_t candidates() { return candidate_count("tiled", kOthers); }

  /// The UUID of a GPU of this test alone and of processes that it forks, so that no other test waits for its lock.
  std::string gpu_uuid(int number) const { return fmt::format("GPU-test-{}-{}", process_, number); }

  static SessionSummary run(const SessionOptions& options, const std::string& faults) {
    const ScopedEnv scope("MMTUNE_TEST_FAULTS", faults.c_str());
    return run_session(options);
  }

  /// The source of a configuration of `tiled`, for target_.
  Source source(const char* config) const {
    const Preparation preparation(TemplateFiles::embedded(), pretended_gpu(), target_, Evidence::measured, "13.0");
    return preparation.program(small_problem(), {&family_named("tiled"), completed("tiled", config)}).source;
  }

  void start_from_nothing() const { std::filesystem::remove(path("test.db")); }

  /// A run that is killed while something hangs, once `is_time`.
  void be_killed(const std::string& faults, const std::function<bool()>& is_time) {
    be_killed(options(), faults, is_time);
  }

  static void be_killed(SessionOptions patient, const std::string& faults, const std::function<bool()>& is_time) {
    patient.launch_limit_s = patient.begin_limit_s = 600;
    const pid_t tuner = fork();
    if (tuner == 0) {
      run(patient, faults);
      _exit(0);
    }
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_time() && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(is_time());
    kill(tuner, SIGKILL);
    waitpid(tuner, nullptr, 0);
  }

  /// A copy of the templates, with one more line in this file.
  std::string edited_templates(const char* file) const {
    const std::filesystem::path root = path("sources");
    for (const char* folder : {"templates/device", "templates/families"}) {
      std::filesystem::create_directories(root / folder);
      std::filesystem::copy(std::filesystem::path(MMTUNE_SOURCE_DIR) / folder, root / folder,
                            std::filesystem::copy_options::recursive);
    }
    std::ofstream(root / file, std::ios::app) << "// edited\n";
    return root.string();
  }

  /// The lines of a file in the test's folder; none if there is no such file.
  std::vector<std::string> lines(const std::string& name) const {
    std::vector<std::string> found;
    std::ifstream file(path(name));
    for (std::string line; std::getline(file, line);) found.push_back(line);
    return found;
  }

  std::vector<Trial> trials() const { return Store::open(path("test.db"), OpenMode::read_only).trials(); }

  /// What became of each candidate of the first problem: "tiled TILE=8 UNROLL=2 …" → "ok".
  std::map<std::string, std::string> outcomes() const {
    std::map<std::string, std::string> found;
    for (const Trial& trial : trials()) {
      found[name_of(trial)] = to_string(trial.outcome);
    }
    return found;
  }

  /// "tiled TILE=8 UNROLL=2 …"
  static std::string name_of(const Trial& trial) { return trial.key.family + ' ' + trial.key.config; }

  /// The candidates whose outcome is ok, the fastest first.
  std::vector<std::string> ranking() const {
    std::vector<std::string> names;
    for (const Trial& trial : trials()) {
      if (trial.outcome == Outcome::ok) names.push_back(name_of(trial));
    }
    std::sort(names.begin(), names.end(),
              [](const auto& x, const auto& y) { return pretended_us(x) < pretended_us(y); });
    return names;
  }

  /// The winner of the first problem that is decided; empty if none is.
  std::string winner() const {
    const auto winners = Store::open(path("test.db"), OpenMode::read_only).winners();
    return winners.empty() ? "" : name_of(winners.front().trial);
  }

  std::vector<Suspect> suspects() const { return Store::open(path("test.db"), OpenMode::read_only).suspects(); }

  CompileTarget target_ = compile_target(pretended_gpu(), {90});
  inline static const std::string kOthers = others_at_default("tiled", {"TILE", "UNROLL"});

 private:
  /// Hundreds of durable transactions are not what is tested here.
  static std::filesystem::path memory_folder() {
    constexpr const char* kShared = "/dev/shm";
    return access(kShared, W_OK) == 0 ? kShared : testing::TempDir();
  }

  pid_t process_ = getpid();
  std::filesystem::path folder_;
};

}  // namespace mmtune::test
