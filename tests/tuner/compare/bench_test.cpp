// Comparisons with an opponent: statistics, table and refusals on any machine, a whole comparison on a GPU.
#include "tuner/compare/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/log.h"
#include "test_paths.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/compare/bench_table.h"
#include "tuner/compare/cublas.h"
#include "tuner/text/sizes.h"
#include "tuner/workers/gpu_lock.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kCsvHeader =
    "set,precision,layout,m,n,k,mmtune_us,cublas_us,cublaslt_us,ratio,ratio_low,ratio_high,mmtune_tflops,peak_share,"
    "mmtune_error,cublas_error,sm_clock_mhz,sm_power_w,family,config,commit\n";

BenchRow row(const std::string& set, std::int64_t size, double ratio) {
  BenchRow row;
  row.set = set;
  row.problem = packed_problem(Precision::fp32, Layout::nt, size, size, size);
  row.family = "simt";
  row.config = "BM=128 BN=64";
  row.peak_tflops = 50;
  row.comparison.ours.timing.median_us = 53.687;
  row.comparison.ours.error = 3.21e-7;
  Comparison::Side cublas, cublaslt;
  cublas.timing.median_us = 70;
  cublas.error = 1;
  cublaslt.timing.median_us = 60;
  cublaslt.error = 2.5e-7;
  row.comparison.theirs = {cublas, cublaslt};
  row.comparison.best = 1;
  row.comparison.ratio = Ratio{ratio, ratio - 0.01, ratio + 0.01};
  row.comparison.sm_clock_mhz = 1979.6;
  row.comparison.power_w = 650.4;
  return row;
}

TEST(BenchTable, CsvHasThePersistentColumns) {
  const auto text =
      bench_table({row("square", 1024, 1.1176)}, "cublas", {"cublas", "cublaslt"}, Format::csv).text(Format::csv);
  EXPECT_THAT(text, StartsWith(std::string(kCsvHeader) +
                               "square,fp32,nt,1024,1024,1024,53.687,70.000,60.000,1.1176,1.1076,1.1276,40.0001,0.8000,"
                               "0.0000003210,0.0000002500,1980,650,simt,BM=128 BN=64,"));
}

TEST(BenchTable, WhatIsUnknownStaysEmpty) {
  BenchRow lonely = row("square", 1024, 1);
  lonely.comparison.theirs = {std::nullopt, std::nullopt};
  lonely.comparison.best.reset();
  lonely.comparison.ratio.reset();
  lonely.comparison.sm_clock_mhz.reset();
  lonely.comparison.power_w.reset();
  const auto text = bench_table({lonely}, "cublas", {"cublas", "cublaslt"}, Format::csv).text(Format::csv);
  EXPECT_THAT(text, HasSubstr(",53.687,,,,,,40.0001,0.8000,0.0000003210,,,,simt,"));
  EXPECT_THAT(bench_summary({lonely}), SizeIs(0));
}

TEST(BenchTable, ColumnsAreNamedAfterTheOpponent) {
  BenchRow one = row("sizes", 64, 2);
  one.comparison.theirs.resize(1);
  one.comparison.best = 0;
  const auto text = bench_table({one}, "naive", {"naive"}, Format::csv).text(Format::csv);
  EXPECT_THAT(text, AllOf(HasSubstr("mmtune_us,naive_us,ratio"), HasSubstr("mmtune_error,naive_error,")));
}

TEST(BenchTable, PeopleReadWhichProductsAreInvariant) {
  BenchRow one = row("sizes", 64, 2);
  EXPECT_THAT(bench_table({one}, "cublas", {"cublas", "cublaslt"}, Format::table).text(Format::table),
              Not(HasSubstr("invariant")));
  one.problem.invariant = true;
  EXPECT_THAT(bench_table({one}, "cublas", {"cublas", "cublaslt"}, Format::table).text(Format::table),
              HasSubstr("fp32 nt invariant"));
}

TEST(BenchTable, SummaryIsOfEachSet) {
  const auto lines = bench_summary({row("square", 256, 1), row("square", 512, 4), row("odd", 127, 0.9)});
  EXPECT_THAT(lines, ElementsAre("square fp32: geometric mean 2.000 of 2 ratios, the least 1.000 at nt 256x256x256",
                                 "odd fp32: geometric mean 0.900 of 1 ratios, the least 0.900 at nt 127x127x127"));
}

TEST(BenchTable, SetsAreNamedAfterTheirFiles) {
  EXPECT_EQ(set_name("@bench/sizes/square.txt"), "square");
  EXPECT_EQ(set_name("256..8192"), "sizes");
  EXPECT_EQ(set_name("@a.txt,@b.txt"), "sizes");
}

TEST(BenchSizes, FilesCanBeRead) {
  const auto count = [](const std::string& name) {
    return parse_sizes(fmt::format("@{}/bench/sizes/{}.txt", MMTUNE_SOURCE_DIR, name)).size();
  };
  EXPECT_EQ(count("square"), 6u);
  EXPECT_EQ(count("between"), 8u);
  EXPECT_EQ(count("odd"), 6u);
  EXPECT_EQ(count("skinny"), 7u);
  EXPECT_EQ(count("layouts"), 2u);
  EXPECT_EQ(count("serving"), 85u);
  EXPECT_EQ(count("serving_fp8"), 67u);
  EXPECT_EQ(count("training"), 57u);
}

TEST(BenchOpponent, SearchesDirectoriesBeforeTheLoaderDoes) {
  EXPECT_THAT(cublas_candidates("libcublas", {"/a", "/b"}),
              ElementsAre("/a/libcublas.so.13", "/a/libcublas.so.12", "/b/libcublas.so.13", "/b/libcublas.so.12",
                          "libcublas.so.13", "libcublas.so.12"));
}

TEST(BenchOpponent, MissingCublasSaysWhereItLooked) {
  const std::string found = "this machine's loader finds cuBLAS by itself";
  const auto before = log::level();
  log::set_level(log::Level::info);
  testing::internal::CaptureStderr();
  try {
    make_cublas_opponent({"/nowhere"});
    GTEST_SKIP() << found;
  } catch (const DeviceError& error) {
    log::set_level(before);
    const std::string listed = testing::internal::GetCapturedStderr();
    const std::string what = error.what();
    if (what.find("built without its headers") != what.npos) GTEST_SKIP() << what;
    if (what.find("cannot load libcublas") == what.npos) GTEST_SKIP() << found << ", and then: " << what;
    EXPECT_THAT(what, AllOf(HasSubstr("MMTUNE_CUDA_PATH"), HasSubstr("--vs naive")));
    EXPECT_THAT(listed, AllOf(HasSubstr("/nowhere/libcublasLt.so.13"), HasSubstr("/nowhere/libcublasLt.so.12")));
  }
}

class BenchCli : public Cli {};

TEST_F(BenchCli, RefusesModels) {
  const auto result = mmtune("bench --sizes 64 --sizes 128,256 --device model:h200");
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("'model:h200'"), HasSubstr("mmtune devices")));
  EXPECT_EQ(result.out, "");
}

TEST_F(BenchCli, RefusesUnknownOpponentsAndSizes) {
  const auto opponent = mmtune("bench --sizes 64 --vs mkl --device model:h200");
  EXPECT_EQ(opponent.code, 2);
  EXPECT_THAT(opponent.err, AllOf(HasSubstr("mkl"), HasSubstr("naive"), HasSubstr("mmtune bench --help")));
  EXPECT_EQ(mmtune("bench --sizes abc --device model:h200").code, 2);
  EXPECT_EQ(mmtune("bench --device model:h200").code, 2);
}

TEST_F(BenchCli, WaitsForTheGpu) {
  DeviceChoice gpu{{}, 0};
  gpu.spec.uuid = fmt::format("GPU-test-{}-bench", getpid());
  const auto lock = GpuLock::wait(gpu, 0);
  const auto result = shell(fmt::format(R"(
      MMTUNE_TEST_FAULTS='uuid@{0}' '{1}' bench --device 0 --sizes 64 --vs naive --db '{2}' 2>'{3}' & bench=$!
      while kill -0 $bench && ! grep -q 'waiting for it' '{3}'; do sleep 0.05; done
      kill -TERM $bench; wait $bench; code=$?; cat '{3}' >&2; exit $code)",
                                        gpu.spec.uuid, MMTUNE_PRETENDING_BINARY, path("default.db"), path("log")));
  std::filesystem::remove(GpuLock::path(gpu));
  EXPECT_THAT(result.err, HasSubstr(fmt::format("process {} (", getpid())));
  EXPECT_THAT(result.err, HasSubstr("has the lock of GPU 0"));
  EXPECT_EQ(result.code, 130);
}

/// Tunes 256 quickly before each comparison.
class GpuBench : public Cli {
 protected:
  void SetUp() override {
    if (const auto why = test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    const auto tuned = mmtune("tune --device 0 --sizes 256 --effort quick --family tiled");
    ASSERT_EQ(tuned.code, 0) << tuned.err;
  }

  static nlohmann::json only_row(const Result& result) {
    const auto rows = nlohmann::json::parse(result.out);
    EXPECT_EQ(rows.size(), 1u);
    return rows.at(0);
  }
};

TEST_F(GpuBench, TiledBeatsNaive) {
  const auto result = mmtune("bench --device 0 --sizes 256 --vs naive --format json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto found = only_row(result);
  EXPECT_EQ(found.at("set"), "sizes");
  EXPECT_EQ(found.at("family"), "tiled");
  EXPECT_GT(found.at("mmtune_us"), 0);
  EXPECT_GT(found.at("naive_us"), 0);
  EXPECT_LE(found.at("ratio_low"), found.at("ratio"));
  EXPECT_GE(found.at("ratio_high"), found.at("ratio"));
  EXPECT_GT(found.at("mmtune_error"), 0);
  EXPECT_LT(found.at("mmtune_error"), 1e-5);
  EXPECT_LT(found.at("naive_error"), 1e-5);
  EXPECT_THAT(result.err, HasSubstr("geometric mean"));
}

TEST_F(GpuBench, ComparesWithCublasWhereItIs) {
  const auto result = mmtune("bench --device 0 --sizes 256 --format json");
  if (result.code == 3) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.code, 0) << result.err;
  const auto found = only_row(result);
  EXPECT_GT(found.at("cublas_us"), 0);
  EXPECT_GT(found.at("cublaslt_us"), 0);
  EXPECT_LT(found.at("cublas_error"), 1e-5);
}

TEST_F(GpuBench, GoesOnAfterAnUntunedSize) {
  const auto result = mmtune("bench --device 0 --sizes 96,256 --vs naive --format json");
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no measured kernel"), HasSubstr("mmtune tune"), HasSubstr("96x96x96")));
  EXPECT_EQ(only_row(result).at("m"), 256);
}

}  // namespace
}  // namespace mmtune
