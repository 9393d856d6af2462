// What tests take for NVRTC (tests/cached_nvrtc) answers as NVRTC does, the first time and later.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "templates/family/render.h"
#include "test_paths.h"
#include "tests/edited_files.h"
#include "tests/runtime/support.h"

namespace mmtune::test {
namespace {

Nvrtc load(const std::string& file) {
  const ScopedEnv scope("MMTUNE_NVRTC", file.c_str());
  return Nvrtc::load();
}

/// What a log says before the time that compiling took.
std::string before_time(const std::string& log) { return log.substr(0, log.find("Compile time")); }

TEST(CachedNvrtc, AnswersAsNvrtcDoes) {
  if (std::string_view(MMTUNE_NVRTC_LIBRARY).ends_with("NOTFOUND")) {
    GTEST_SKIP() << "NVRTC is not beside its headers, and tests use it as it is";
  }
  const Nvrtc nvrtc = load(MMTUNE_NVRTC_LIBRARY), cached = load(MMTUNE_CACHED_NVRTC_FOLDER "/libnvrtc.so");
  const Source source = source_of(
      "#include \"mmtune/unit.cuh\"\n"
      "extern \"C\" __global__ void gemm(int* c) { c[threadIdx.x] = unit(); }\n");
  std::set<std::string> seen;
  for (const char* unit : {"1", "2", "unknown"}) {
    const TemplateFiles files = with_file(TemplateFiles::embedded(), "templates/device/unit.cuh",
                                          fmt::format("__device__ int unit() {{ return {}; }}\n", unit));
    for (const int capability : {80, 90}) {
      const Compilation expected = nvrtc.compile(source, files, sm(capability));
      const Compilation first = cached.compile(source, files, sm(capability));
      const Compilation second = cached.compile(source, files, sm(capability));
      EXPECT_EQ(first.cubin, expected.cubin) << unit;
      EXPECT_EQ(second.cubin, expected.cubin) << unit;
      EXPECT_EQ(before_time(first.log), before_time(expected.log));
      EXPECT_EQ(second.log, first.log) << "with the time that the first one took";
      seen.insert(expected.cubin);
    }
  }
  EXPECT_EQ(seen.size(), 5U) << "four programs, and none where the source does not compile";
}

}  // namespace
}  // namespace mmtune::test
