// A database with a decision that is served, and what the program and the library make of it once it was tampered with.
#pragma once

#include <gmock/gmock.h>
#include <mmtune/mmtune.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "db/store.h"
#include "runtime/base/log.h"
#include "templates/gpu/gpu_catalog.h"
#include "test_paths.h"
#include "tests/db/raw_sql.h"
#include "tests/db/samples.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/templates/family/settings.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {

inline constexpr Gemm kAsked{.m = 512, .n = 512, .k = 512};
inline constexpr std::string_view kTune = "tune --device model:h200 --sizes 64 --family tiled --only TILE=8";

inline std::string bytes_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class DatabaseFaults : public Cli {
 protected:
  DatabaseFaults() {
    std::filesystem::create_directory(path("place"));
    Store store = Store::open(file(), OpenMode::read_write);
    put_decision(store);
    std::vector<Trial> trials;
    trials.reserve(100);
    for (int number = 0; number < 100; ++number) trials.push_back(test::sample_trial(number));
    store.put(trials, {});
  }
  ~DatabaseFaults() override {
    std::error_code ignored;
    std::filesystem::permissions(path("place"), std::filesystem::perms::owner_all, ignored);
  }

  std::string file() const { return path("place/mmtune.db"); }

  /// One that the library serves: for kAsked, as trial 1.
  static void put_decision(Store& store) {
    const DeviceSpec device = catalog_gpu("h200");
    const test::Decision decision{packed_problem(Precision::fp32, Layout::nn, kAsked.m, kAsked.n, kAsked.k), "tiled"};
    const CompileTarget target = compile_target(device, {90});
    const Source source = test::source_of(decision, device, target.compute_capability);
    test::put(store, device, decision, source.hash, test::pretended_binary(source, target));
  }

  /// A verb on that file, ended where it hangs.
  Result on_file(std::string_view verb) const {
    return shell(fmt::format("timeout 100 '{}' {} --db '{}'", MMTUNE_BINARY, verb, file()));
  }

  void expect_refused(std::string_view verb, const std::string& cause) const {
    const std::string before = bytes_of(file());
    const Result result = on_file(verb);
    EXPECT_EQ(result.code, 5) << verb << ": " << result.err;
    EXPECT_EQ(result.out, "") << verb;
    const std::string last = result.err.substr(result.err.rfind("mmtune: "));
    EXPECT_THAT(last, ::testing::AllOf(::testing::HasSubstr(path("place")), ::testing::HasSubstr(cause),
                                       ::testing::HasSubstr("; ")))
        << verb;
    EXPECT_EQ(last.find('\n'), last.size() - 1) << last;
    EXPECT_TRUE(bytes_of(file()) == before) << verb << " changed the file";
  }

  struct Served {
    Answer answer;
    std::string warnings;
  };

  /// What the library has for kAsked.
  Served served() const {
    log::set_level(log::Level::warning);
    ::testing::internal::CaptureStderr();
    const Library library = Library::open({.database = file(), .model = "h200"});
    const Answer answer = library.plan(kAsked);
    return {answer, ::testing::internal::GetCapturedStderr()};
  }

  /// The stored decision, without a word.
  static void expect_decision(const Served& served) {
    EXPECT_EQ(served.answer.match, Match::exact) << served.answer.why;
    EXPECT_EQ(served.answer.family + ' ' + served.answer.config, test::candidate_text("tiled", ""));
    EXPECT_EQ(served.warnings, "");
  }

  /// Nothing but the fallback, and one line that says why.
  static void expect_fallback(const Served& served, const std::string& cause) {
    EXPECT_EQ(served.answer.match, Match::fallback);
    EXPECT_THAT(served.answer.why, ::testing::HasSubstr(cause));
    EXPECT_THAT(served.warnings, ::testing::AllOf(::testing::StartsWith("mmtune: "), ::testing::HasSubstr(cause)));
    EXPECT_EQ(served.warnings.find('\n'), served.warnings.size() - 1) << served.warnings;
  }

  /// All of them refuse.
  void expect_unusable(const std::string& cause) const {
    expect_refused("show", cause);
    expect_refused("db check", cause);
    expect_refused(kTune, cause);
    expect_fallback(served(), cause);
  }
};

}  // namespace mmtune
