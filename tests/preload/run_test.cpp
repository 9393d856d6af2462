// `mmtune run`, and LD_PRELOAD by itself: programs that were not built for it.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "test_paths.h"
#include "tests/api/fixture.h"

#ifdef MMTUNE_BINARY

namespace mmtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The program multiplies 5 x 4 x 3, column-major, which is tuned, or another size.
class RunProgram : public test::ApiTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a program without sanitizers cannot load what was built with them";
#endif
    offer(database(), {packed_problem(Precision::fp32, Layout::nn, 4, 5, 3), "naive", "", 2});
  }

  /// Runs in a shell, with the pretended driver and the database of the test.
  int shell(const std::string& command) {
    const std::string line = fmt::format("MMTUNE_LOG=warning LD_LIBRARY_PATH='{}:{}' MMTUNE_DB='{}' {} > '{}' 2> '{}'",
                                         MMTUNE_FAKE_CUDA_FOLDER, MMTUNE_FAKE_CUBLAS_FOLDER, database(), command,
                                         directory_.file("out"), directory_.file("err"));
    const int status = std::system(line.c_str());
    out_ = text("out");
    err_ = text("err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string text(const std::string& name) const {
    std::ifstream file(directory_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string program(int times, int m, int code = 0) {
    return fmt::format("'{}' '{}' {} {} {}", MMTUNE_PRELOAD_PROGRAM, MMTUNE_PRELOAD_MODULE, times, m, code);
  }
  static std::string run(const std::string& options, const std::string& program) {
    return fmt::format("'{}' run {} -- {}", MMTUNE_BINARY, options, program);
  }
  /// An assignment for a command of env.
  std::string preload() const {
    const std::string stand_in = directory_.file("stand_in.so");  // The loader's list takes no path with a space.
    std::filesystem::create_symlink(MMTUNE_PRELOAD_LIBRARY, stand_in);
    return fmt::format("LD_PRELOAD='{}' ", stand_in);
  }

  std::string out_, err_;
};

// The loader's list of libraries cannot name it there.
TEST_F(RunProgram, ServesFromAFolderWithASpace) {
  const std::filesystem::path folder = directory_.file("a folder");
  const std::filesystem::path built = MMTUNE_BINARY;
  std::filesystem::create_directory(folder);
  std::filesystem::copy(built, folder / "mmtune");
  std::filesystem::copy(built.parent_path() / "libmmtune_cublas.so", folder);
  EXPECT_EQ(shell(fmt::format("'{}' run -- {}", (folder / "mmtune").string(), program(3, 5, 42))), 42) << err_;
  EXPECT_THAT(err_, HasSubstr("mmtune: served 3 calls of 1 shape"));
}

TEST_F(RunProgram, ServesWhatIsTunedAndSaysSo) {
  EXPECT_EQ(shell(run("", program(3, 5, 42))), 42) << err_;
  EXPECT_EQ(out_, "cuBLAS multiplied 0 times\n");
  EXPECT_THAT(err_,
              AllOf(HasSubstr("mmtune: served 3 calls of 1 shape: fp32 nn 4x5x3 (3)"),
                    HasSubstr("expected to take 0.006 ms"), HasSubstr("3 calls of sizes that `mmtune bench` has not")));
}

TEST_F(RunProgram, PassesOnTheRestAndRecordsIt) {
  EXPECT_EQ(shell(run("--record " + directory_.file("calls.csv"), program(2, 6))), 0) << err_;
  EXPECT_EQ(out_, "cuBLAS multiplied 2 times\n");
  EXPECT_THAT(err_, AllOf(HasSubstr("mmtune: served no call"),
                          HasSubstr("mmtune: passed on, not tuned: 2 calls of 1 shape: fp32 nn 4x6x3 (2)")));
  EXPECT_THAT(text("calls.csv"), HasSubstr("\nfp32,nn,4,6,3,2,"));
}

TEST_F(RunProgram, FilesAreThoseOfTheDirectoryThatItWasStartedIn) {
  const std::string here = fmt::format("env -C '{}' MMTUNE_DB=test.db ", directory_.file(""));
  EXPECT_EQ(shell(here + run("--record calls.csv", program(3, 5))), 0) << err_;
  EXPECT_EQ(out_, "cuBLAS multiplied 0 times\n");
  EXPECT_THAT(text("calls.csv"), HasSubstr("\nfp32,nn,4,5,3,3,"));
  EXPECT_EQ(shell(here + "MMTUNE_RECORD=more.csv " + preload() + program(3, 6)), 0) << err_;
  EXPECT_THAT(text("more.csv"), HasSubstr("\nfp32,nn,4,6,3,3,"));
}

TEST_F(RunProgram, TunesWhatWasMultipliedWhenTheProgramHasEnded) {
  EXPECT_NE(shell(run("--tune 1s", program(2, 6))), 0) << "the pretended driver runs no tuner";
  EXPECT_EQ(out_, "cuBLAS multiplied 2 times\n");
  EXPECT_THAT(err_, AllOf(HasSubstr("mmtune: 1 size: 4x6x3"), HasSubstr("--budget 1s")));
  EXPECT_EQ(shell(run("--tune 1s", program(2, 6, 42))), 42) << err_;
  EXPECT_EQ(shell(run("--tune 1s", "true")), 0) << err_;
}

TEST_F(RunProgram, SaysWhatItCannotDo) {
  EXPECT_EQ(shell(run("", "true")), 0);
  EXPECT_THAT(err_, HasSubstr("no call of cuBLAS was seen"));
  EXPECT_EQ(shell(run("", "/no/such/program")), 2);
  EXPECT_THAT(err_, HasSubstr("program '/no/such/program' cannot be started: No such file"));
  EXPECT_EQ(shell(run("", "sh -c 'kill -TERM $$'")), 128 + SIGTERM);
  const std::string other = directory_.file("other.csv");
  std::ofstream(other) << "name,value\n";
  EXPECT_EQ(shell(run("--record " + other, program(2, 6))), 1);
  EXPECT_EQ(out_, "") << "it would have been run in vain";
  EXPECT_THAT(err_, HasSubstr("other.csv: the file holds something else; name another file"));
}

TEST_F(RunProgram, TakesTheCallsOfALibraryThatIsLoaded) {
  EXPECT_EQ(shell(program(3, 5) + " '" MMTUNE_PRELOAD_LIBRARY "'"), 0) << err_;
  EXPECT_EQ(out_, "calls are taken\ncuBLAS multiplied 0 times\nthen 3 times\nthen 6 times\nserved 3, passed 3\n");
}

TEST_F(RunProgram, WithoutADatabaseOrAGpuAllIsLeftToCublas) {
  const std::string list = preload();
  EXPECT_EQ(shell("env " + list + program(4, 5)), 0);
  EXPECT_EQ(out_, "cuBLAS multiplied 0 times\n");
  EXPECT_EQ(err_, "");
  EXPECT_EQ(shell("env MMTUNE_DB=/no/such.db " + list + program(4, 5)), 0);
  EXPECT_EQ(out_, "cuBLAS multiplied 4 times\n");
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
  EXPECT_THAT(err_, Not(HasSubstr("fallback"))) << "cuBLAS runs";
}

}  // namespace
}  // namespace mmtune

#endif
