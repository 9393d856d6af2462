// Runs the program in a shell, each test in its own folder with its own database.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "runtime/base/temporary_directory.h"
#include "test_paths.h"

namespace mmtune {

struct Result {
  int code = 0;
  std::string out;
  std::string err;
};

class Cli : public ::testing::Test {
 protected:
  ~Cli() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }

  /// Runs `mmtune ARGUMENTS` in a shell with its database in the test's own folder.
  Result mmtune(const std::string& arguments) const {
    return shell(fmt::format("MMTUNE_DB='{}' '{}' {}", path("default.db"), MMTUNE_BINARY, arguments));
  }

  /// Runs a command line of the shell.
  Result shell(const std::string& command) const {
    const auto out = path("stdout");
    const auto err = path("stderr");
    const auto line = fmt::format("{{ {}\n}} >'{}' 2>'{}' </dev/null", command, out, err);
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
  }

  /// Makes what the program leaves behind, from now on in this test, a child of this process: see
  /// expect_no_process_left().
  static void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

  /// Whatever the program had started is gone soon after it.
  static void expect_no_process_left() {
    constexpr int kMost_ms = 20'000;
    for (int waited_ms = 0; waitpid(-1, nullptr, WNOHANG) != -1; ++waited_ms) {
      ASSERT_LT(waited_ms, kMost_ms) << "a process of the program still runs";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::string path(const std::string& name) const { return directory_.file(name); }

  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace mmtune
