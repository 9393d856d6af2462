// The main job on a GPU, from the command line to a call of the library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/mmtune.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "db/store.h"
#include "runtime/gpu/driver.h"
#include "templates/family/render.h"
#include "test_paths.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"
#include "tests/tuner/matrices.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class GpuTune : public Cli {
 protected:
  void SetUp() override {
    if (const auto why = test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }

  std::vector<Trial> trials() const { return Store::open(path("default.db"), OpenMode::read_only).trials(); }

  /// A copy of the kernels' sources with one piece of one family's replaced.
  std::string templates_with(const std::string& family, std::string_view from, std::string_view to) const {
    const fs::path root = path("templates_with_a_fault");
    const std::string kernel = fmt::format("templates/families/{}/kernel.cu", family);
    std::string text(TemplateFiles::embedded().text(kernel));
    text.replace(text.find(from), from.size(), to);
    fs::create_directories(root);
    fs::copy(fs::path(MMTUNE_SOURCE_DIR) / "templates", root / "templates", fs::copy_options::recursive);
    std::ofstream(root / kernel) << text;
    return root.string();
  }
};

TEST_F(GpuTune, ASecondRunMeasuresNothing) {
  constexpr auto kTune = "tune --device 0 --sizes 96,65x33x129 --family tiled,naive --effort quick --format json";
  const auto first = mmtune(kTune);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("2 measured, 0 known before, 0 failed"));
  const auto before = trials();
  EXPECT_GT(before.size(), 10u);

  const auto second = mmtune(kTune);
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("0 measured, 2 known before, 0 failed"));
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(trials().size(), before.size());
  EXPECT_EQ(mmtune("show --format json").out, first.out);
}

TEST_F(GpuTune, ShowsWhatWasMeasured) {
  ASSERT_EQ(mmtune("tune --device 0 --sizes 128 --family tiled --effort quick").code, 0);
  const auto rows = nlohmann::json::parse(mmtune("show --format json").out);
  ASSERT_EQ(rows.size(), 1u);
  const auto& row = rows.at(0);
  EXPECT_EQ(row.at("family"), "tiled");
  EXPECT_EQ(row.at("source"), "measured");
  for (const auto* positive : {"median_us", "tflops", "peak_share", "registers", "occupancy", "error_share"}) {
    EXPECT_GT(row.at(positive), 0) << positive;
  }
  for (const auto* share : {"peak_share", "occupancy", "error_share"}) EXPECT_LE(row.at(share), 1) << share;
}

TEST_F(GpuTune, TheLibraryDispatchesExactly) {
  ASSERT_EQ(mmtune("tune --device 0 --sizes 96x80x64 --family tiled --effort quick --precision fp32,fp16").code, 0);
  const Gpu gpu(0);
  Library library = Library::open({.database = path("default.db"), .device = 0});
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    const Problem problem = packed_problem(precision, Layout::nn, 96, 80, 64);
    const PrecisionTraits& types = traits(precision);
    test::Matrix a(types.a, stored_a(problem), {}, test::Values::whole, 1);
    test::Matrix b(types.b, stored_b(problem), {}, test::Values::whole, 2);
    test::Matrix c(types.c, stored_c(problem), {}, test::Values::nan, 3);
    for (test::Matrix* matrix : {&a, &b, &c}) matrix->upload();
    const auto pointer = [](const test::Matrix& matrix) { return reinterpret_cast<void*>(matrix.address()); };
    const Answer answer = library.gemm(
        {.precision = precision, .m = 96, .n = 80, .k = 64, .a = pointer(a), .b = pointer(b), .c = pointer(c)},
        nullptr);
    MMTUNE_CUDA(cuCtxSynchronize());
    EXPECT_EQ(answer.match, Match::exact) << answer.why;
    EXPECT_EQ(answer.family, "tiled");
    EXPECT_TRUE(answer.measured);
    const auto image = c.download();
    const test::Sums sums = test::multiply(problem, a, b);
    for (std::int64_t i = 0; i < 96 * 80; ++i) {
      ASSERT_EQ(test::decode(types.c.format, c.bits(image, i / 80, i % 80)),
                test::rounded(types.c, sums.value[static_cast<std::size_t>(i)]));
    }
  }
}

TEST_F(GpuTune, WhatDoesNotFitIsSkipped) {
  const auto result = mmtune("tune --device 0 --sizes 64,1000000 --family tiled --effort quick --format csv");
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("1000000x1000000x1000000"), HasSubstr("1 measured")));
  EXPECT_THAT(result.out, HasSubstr("fp32,nn,64,64,64,tiled,"));
}

TEST_F(GpuTune, AWrongKernelIsStoredButNeverWins) {
  const test::ScopedEnv directory("MMTUNE_TEMPLATE_DIR", templates_with("naive", "l < k;", "l < k - 1;").c_str());
  const auto result = mmtune("tune --device 0 --sizes 64 --family naive --effort quick");
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_FALSE(trials().empty());
  for (const Trial& trial : trials()) EXPECT_EQ(trial.outcome, Outcome::wrong_result) << trial.key.config;
}

/// The faults are in one configuration of `tiled`; the others, and the GPU, are as good as ever.
class GpuSurvival : public GpuTune {
 protected:
  Result tune(std::string_view from, std::string_view to) const {
    const auto root = templates_with("tiled", from, to);
    const test::ScopedEnv directory("MMTUNE_TEMPLATE_DIR", root.c_str());
    return mmtune("tune --device 0 --sizes 192 --family tiled --strategy exhaustive --launch-limit 2s");
  }

  void expect_one_fault(const Result& result, Outcome outcome) const {
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_GT(trials().size(), 10u);
    for (const Trial& trial : trials()) {
      const Config config = Config::parse(trial.key.config);
      const bool faulty = *config.find("TILE") == 8 && *config.find("UNROLL") == 4;
      EXPECT_EQ(trial.outcome == outcome, faulty) << trial.key.config << ": " << to_string(trial.outcome) << trial.note;
    }
    EXPECT_EQ(Store::open(path("default.db"), OpenMode::read_only).winners().size(), 1u);
  }
};

TEST_F(GpuSurvival, AnIllegalAddressCostsOneCandidate) {
  expect_one_fault(tune("store_result(C + (", "store_result(C + (TILE == 8 && UNROLL == 4 ? i64(1) << 40 : 0) + ("),
                   Outcome::crashed);
}

TEST_F(GpuSurvival, AKernelThatNeverEndsCostsOneCandidate) {
  expect_one_fault(tune("  if (row0 + y < m && column0",
                        "  while (TILE == 8 && UNROLL == 4 && m > 0) __nanosleep(100);\n  if (row0 + y < m && column0"),
                   Outcome::timed_out);
}

}  // namespace
}  // namespace mmtune
