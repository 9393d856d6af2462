// What a report says: the tables of its page, and when there is none.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "templates/gpu/gpu_catalog.h"
#include "templates/gpu/occupancy.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/report/content.h"
#include "tuner/report/page.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kConfig = "TILE=16 CM=2 CN=2 UNROLL=8";

Trial trial(double median_us, Outcome outcome = Outcome::ok) {
  Trial result;
  result.key.device = key_of(catalog_gpu("h200"));
  result.key.problem = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024);
  result.key.family = "tiled_coarsened";
  result.key.config = kConfig;
  result.outcome = outcome;
  result.timing.median_us = median_us;
  result.timing.q1_us = median_us - 1;
  result.timing.q3_us = median_us + 1;
  result.occupancy = 0.5;
  result.smem_bytes = 4096;
  return result;
}

Winner winner() {
  Winner result;
  result.trial = trial(100);
  result.binary.hash = std::string(32, 'a');
  result.binary.registers = 40;
  return result;
}

/// Rows of a table as objects.
std::vector<nlohmann::json> rows_of(const ReportContent& content, const std::string& table,
                                    std::size_t most = kMostReportTrials) {
  const auto json = nlohmann::json::parse(report_json(content, most)).at(table);
  std::vector<nlohmann::json> rows;
  for (const auto& row : json.at("rows")) {
    nlohmann::json object;
    for (std::size_t i = 0; i < row.size(); ++i) object[json.at("columns").at(i).get<std::string>()] = row.at(i);
    rows.push_back(object);
  }
  return rows;
}

TEST(ReportContent, TrialsAreAsStored) {
  ReportContent content;
  content.trials = {trial(120), trial(7, Outcome::wrong_result), trial(100)};
  const auto rows = rows_of(content, "trials");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].at("values"), "16 2 2 8");
  EXPECT_EQ(rows[0].at("median_us"), 120);
  EXPECT_EQ(rows[0].at("q1_us"), 119);
  EXPECT_EQ(rows[1].at("outcome"), "wrong_result");
  EXPECT_TRUE(rows[1].at("median_us").is_null());
  EXPECT_EQ(rows[2].at("order"), 3);
  EXPECT_EQ(rows_of(content, "shapes")[0].at("names"), "TILE CM CN UNROLL");
  EXPECT_EQ(rows_of(content, "problems")[0].at("flops"), 2.0 * 1024 * 1024 * 1024);
}

TEST(ReportContent, AnInvariantProductIsNoRivalOfAnother) {
  ReportContent content;
  content.trials = {trial(100), trial(110)};
  content.trials[1].key.problem.invariant = true;
  const auto problems = rows_of(content, "problems");
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].at("layout"), "nn");
  EXPECT_EQ(problems[1].at("layout"), "nn-invariant");
}

TEST(ReportContent, WinnersAreExplained) {
  ReportContent content;
  content.winners = {winner()};
  content.states = {State{}};
  const auto row = rows_of(content, "winners").at(0);
  const DeviceSpec& device = catalog_gpu("h200");
  EXPECT_NEAR(row.at("arithmetic_floor_us"), 2.0 * 1024 * 1024 * 1024 / peak_tflops(device, Precision::fp32) * 1e-6,
              1e-3);
  EXPECT_NEAR(row.at("memory_floor_us"), 3.0 * 1024 * 1024 * 4 / device.memory_bandwidth_gb_s * 1e-3, 1e-3);
  EXPECT_EQ(row.at("threads"), 256);
  const auto expected = occupancy(device, BlockResources{256, 40, 4096});
  EXPECT_EQ(row.at("blocks_per_sm"), expected.blocks_per_sm);
  EXPECT_EQ(row.at("limit"), to_string(expected.limit));
  double sum = 0;
  for (const auto& [name, value] : row.items()) {
    if (name.starts_with("share ")) sum += value.get<double>();
  }
  EXPECT_NEAR(sum, 1, 1e-3);
}

TEST(ReportContent, WinnersOfOneBlockShareItsCurves) {
  ReportContent content;
  content.winners = {winner(), winner()};
  content.states = {State{}, State{}};
  content.winners[1].trial.key.problem = packed_problem(Precision::fp32, Layout::nn, 2048, 2048, 2048);
  const auto rows = rows_of(content, "curves");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("threads"), 256);
  EXPECT_EQ(rows[0].at("registers"), 40);
  EXPECT_EQ(rows[0].at("smem_bytes"), 4096);
  // Blocks of 8 warps: up to 32 registers all 64 warps, up to 40 48 of them; from 129 on one block.
  EXPECT_THAT(rows[0].at("against_registers").get<std::string>(),
              AllOf(StartsWith("1 64 33 48 41 40 "), EndsWith(" 129 8 255 8")));
  content.winners[0].trial.key.device.name = "No Such Card";
  content.winners.pop_back();
  EXPECT_TRUE(rows_of(content, "curves").empty());
}

TEST(ReportContent, AWinnerOfAnUnknownFamilyOrGpuIsListedUnexplained) {
  ReportContent content;
  content.winners = {winner(), winner()};
  content.states = {State{}, State{}};
  content.winners[0].trial.key.family = "no_such_family";
  content.winners[1].trial.key.device.name = "No Such Card";
  for (const auto& row : rows_of(content, "winners")) {
    EXPECT_EQ(row.at("median_us"), 100);
    EXPECT_TRUE(row.at("limit").is_null());
  }
}

TEST(ReportContent, OfManyTrialsTheFastestAndTheBestSoFarStay) {
  ReportContent content;
  constexpr int kTrials = 1000;
  for (int i = 0; i < kTrials; ++i) content.trials.push_back(trial(i == 0 ? 5000 : 1000 + (i * 617) % kTrials));
  const auto rows = rows_of(content, "trials", 100);
  EXPECT_LE(rows.size(), 120u);
  EXPECT_GE(rows.size(), 60u);
  EXPECT_EQ(rows.front().at("order"), 1);
  int fast = 0;
  for (const auto& row : rows) fast += row.at("median_us").get<double>() < 1050 ? 1 : 0;
  EXPECT_EQ(fast, 49);  // 1001 to 1049: 1000 would be the time of the first trial
  EXPECT_EQ(rows_of(content, "about", 100)[0].at("trials"), kTrials);
}

TEST(ReportContent, APageCannotBeEndedByItsData) {
  try {
    EXPECT_THAT(report_page(R"({"a": "</script>"})"), HasSubstr(R"({"a": "\u003c/script>"})"));
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("apt-get install nodejs npm"));
  }
}

class ReportVerb : public Cli {
 protected:
  /// Whether this build has a page; without one every command says how to get it.
  static bool has_page() {
    try {
      check_report_page();
      return true;
    } catch (const Error&) {
      return false;
    }
  }
};

TEST_F(ReportVerb, MistakesAreRefusedBeforeAnythingIsWritten) {
  const std::string output = path("report.html");
  if (!has_page()) {
    const auto result = mmtune("report -o '" + output + "'");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("npm"));
    GTEST_SKIP() << "mmtune was built without the page of a report";
  }
  EXPECT_THAT(mmtune("report").err, HasSubstr("--output"));
  ASSERT_EQ(mmtune("tune -q --device model:h200 --sizes 64 --family tiled --only 'TILE=8 UNROLL=8'").code, 0);
  const auto other = mmtune("report -o '" + output + "' --device turing");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("no results that match"));
  ASSERT_EQ(shell("echo m,n,k > '" + path("sizes.csv") + "'").code, 0);
  const auto bench = mmtune("report -o '" + output + "' --bench '" + path("sizes.csv") + "'");
  EXPECT_EQ(bench.code, 2);
  EXPECT_THAT(bench.err, HasSubstr("mmtune bench"));
  const auto study = mmtune("report -o '" + output + "' --study '" + path("sizes.csv") + "'");
  EXPECT_EQ(study.code, 2);
  EXPECT_THAT(study.err, HasSubstr("mmtune study"));
  const auto gpu = mmtune("report -o '" + output + "' --study 'a100=" + path("sizes.csv") + "'");
  EXPECT_EQ(gpu.code, 2);
  EXPECT_THAT(gpu.err, HasSubstr("a100"));
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(mmtune("report -o '" + output + "'").code, 0);
  const auto again = mmtune("report -o '" + output + "'");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(mmtune("report --force -o '" + output + "'").code, 0);
}

}  // namespace
}  // namespace mmtune
