// What the program does with its streams: whatever becomes of them, a run is not lost.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTuneNaive = "tune --device model:h200 --sizes 16 --family naive --format csv";

class CliStreams : public Cli {
 protected:
  /// Tunes with stderr as this redirection says, and expects the result on stdout and in the database.
  void expect_tuned_with(const std::string& redirection) const {
    const auto result = mmtune(fmt::format("{} {}", kTuneNaive, redirection));
    if (result.code == 3) GTEST_SKIP() << result.err;
    EXPECT_EQ(result.code, 0) << redirection << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr("\nfp32,nn,16,16,16,naive,")) << redirection;
    EXPECT_THAT(mmtune("show --format csv").out, HasSubstr("\nfp32,nn,16,16,16,naive,")) << redirection;
    EXPECT_EQ(mmtune("db check").code, 0) << redirection;
  }
};

TEST_F(CliStreams, FullStderrDoesNotEndTheRun) { expect_tuned_with("2>/dev/full"); }

TEST_F(CliStreams, ClosedStderrDoesNotEndTheRun) { expect_tuned_with("2>&-"); }

TEST_F(CliStreams, ClosedStdinDoesNotEndTheRun) { expect_tuned_with("<&-"); }

TEST_F(CliStreams, PipeWithoutAReaderDoesNotEndTheRun) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  expect_tuned_with(fmt::format("2>&{}", ends[1]));
  close(ends[1]);
}

TEST_F(CliStreams, TerminalThatCloses) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal) + unlockpt(terminal), 0);
  const int stream = open(ptsname(terminal), O_RDWR | O_NOCTTY);  // the stream of the program
  ASSERT_GE(stream, 0);
  std::thread reader([terminal] {
    // Until there is a bar, which the program wants to clear at its end.
    std::string seen;
    for (char c = 0; seen.find("ETA") == seen.npos && ::read(terminal, &c, 1) == 1;) seen += c;
    close(terminal);
  });
  expect_tuned_with(fmt::format("2>&{}", stream));
  close(stream);
  reader.join();
}

TEST_F(CliStreams, ClosedStdoutIsAnError) {
  const auto result = mmtune("devices -q >&-");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("standard output"));
}

TEST_F(CliStreams, ReaderThatHasSeenEnoughIsNoError) {
  const auto result = shell(fmt::format("'{}' devices | true", MMTUNE_BINARY));
  EXPECT_THAT(result.err, Not(HasSubstr("standard output")));
}

TEST_F(CliStreams, RunWithWorkersWarnsOnceOfItsSwitches) {
  const test::ScopedEnv loud("MMTUNE_LOG", "loud");
  const auto result = mmtune(kTuneNaive);
  if (result.code == 3) GTEST_SKIP() << result.err;
  const auto first = result.err.find("MMTUNE_LOG=loud: no such level");
  ASSERT_NE(first, result.err.npos) << result.err;
  EXPECT_EQ(result.err.find("MMTUNE_LOG=loud", first + 1), result.err.npos) << result.err;
}

TEST_F(CliStreams, QuietRunPrintsNoProgress) {
  const auto result = mmtune(fmt::format("{} -q", kTuneNaive));
  if (result.code == 3) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace mmtune
