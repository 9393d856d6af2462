// Only workers touch CUDA: the dynamic linker tells what the program itself loads.
#include <gtest/gtest.h>
#include <unistd.h>

#include "test_paths.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

class LoadedLibraries : public Cli {
 protected:
  ~LoadedLibraries() override { std::filesystem::remove("/tmp/mmtune-" + uuid() + ".lock"); }

  static std::string uuid() { return fmt::format("GPU-test-{}-libraries", getpid()); }

  /// Every library that the program found or looked for, its workers' not included. Its GPU is pretended.
  std::string loaded_by(const std::string& arguments) const {
    const Result result =
        shell(fmt::format("MMTUNE_TEST_FAULTS='uuid@{}' sh -c 'echo $$ >\"{}\"; exec env LD_DEBUG=files "
                          "LD_DEBUG_OUTPUT=\"{}\" \"{}\" {}'",
                          uuid(), path("pid"), path("loaded"), MMTUNE_PRETENDING_BINARY, arguments));
    EXPECT_EQ(result.code, 0) << result.err;
    std::string pid = content(path("pid"));
    pid.pop_back();
    return content(path("loaded." + pid));
  }
};

TEST_F(LoadedLibraries, HaveNoCudaAmongThem) {
  for (const char* arguments :
       {"tune --device 0 --sizes 64 --family tiled --strategy exhaustive", "refresh --device 0 --all", "show"}) {
    const std::string loaded = loaded_by(fmt::format("{} --db \"{}\"", arguments, path("test.db")));
    EXPECT_NE(loaded.find("libc.so"), loaded.npos) << "the dynamic linker did not tell";
    for (const char* library : {"libcuda", "libnvrtc"}) {
      EXPECT_EQ(loaded.find(library), loaded.npos) << arguments << ": " << library;
    }
  }
}

}  // namespace
}  // namespace mmtune
