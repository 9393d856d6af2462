#include "tuner/commands/winners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Winner winner(std::int64_t n, Evidence evidence, const DeviceKey& device) {
  Winner result;
  auto& trial = result.trial;
  trial.key.device = device;
  trial.key.problem = packed_problem(Precision::fp32, Layout::nn, n, n, n);
  trial.key.family = "simt";
  trial.key.config = "BM=128 BN=64";
  trial.key.evidence = evidence;
  trial.timing.median_us = 100;
  trial.error_share = 0.25;
  trial.created = "2025-01-02T03:04:05Z";
  result.binary.registers = 96;
  return result;
}

Table table_of(const Winner& winner, Format format, const State& state = {}) {
  return winners_table({winner}, {state}, {.format = format});
}

DeviceKey h200() { return key_of(catalog_gpu("h200")); }

TEST(Winners, MeasuredReplacesPredictedWhateverTheOrder) {
  DeviceKey other = h200();
  other.sm_count /= 2;
  const auto best = best_evidence({winner(64, Evidence::predicted, h200()), winner(32, Evidence::measured, h200()),
                                   winner(64, Evidence::measured, h200()), winner(32, Evidence::predicted, h200()),
                                   winner(64, Evidence::predicted, other)});
  ASSERT_EQ(best.size(), 3U);
  EXPECT_EQ(best[0].trial.key.problem.m, 64);
  EXPECT_EQ(best[0].trial.key.evidence, Evidence::measured);
  EXPECT_EQ(best[1].trial.key.evidence, Evidence::measured);
  EXPECT_EQ(best[2].trial.key.device, other);
}

TEST(Winners, FullTableComputesRates) {
  const auto table = table_of(winner(1000, Evidence::measured, h200()), Format::json);
  const auto row = nlohmann::json::parse(table.text(Format::json)).at(0);
  EXPECT_DOUBLE_EQ(row.at("tflops"), 20);  // 2e9 operations in 100 µs
  EXPECT_NEAR(row.at("peak_share"), 20 / peak_tflops(catalog_gpu("h200"), Precision::fp32), 1e-4);
  EXPECT_EQ(row.at("source"), "measured");
  EXPECT_EQ(row.at("registers"), 96);
}

TEST(Winners, FullTableHasEveryFieldOfTheTime) {
  const auto table = table_of(winner(1000, Evidence::measured, h200()), Format::json);
  const auto row = nlohmann::json::parse(table.text(Format::json)).at(0);
  const auto expect = [&](std::string_view name, auto, const auto&...) {
    EXPECT_TRUE(name == "conditions" || row.contains(std::string(name))) << name;
  };
  Timing::fields(expect);
  RunConditions::fields(expect);
}

TEST(Winners, UnknownGpuHasNoShareOfThePeak) {
  DeviceKey stranger = h200();
  stranger.name = "No Such Card";
  const auto table = table_of(winner(1000, Evidence::measured, stranger), Format::json);
  EXPECT_TRUE(nlohmann::json::parse(table.text(Format::json)).at(0).at("peak_share").is_null());
}

TEST(Winners, FriendlyTableSaysPredictedAndWhen) {
  const auto text = table_of(winner(1000, Evidence::predicted, h200()), Format::table).text(Format::table);
  EXPECT_THAT(text, HasSubstr("predicted"));
  EXPECT_THAT(text, HasSubstr("2025-01-02"));
  EXPECT_THAT(text, HasSubstr("1000x1000x1000"));
  EXPECT_THAT(text, Not(HasSubstr("0.2500"))) << "a prediction has no error";
}

TEST(Winners, BriefConfigurationsHoldWhatDiffersFromTheDefault) {
  TrialKey key = winner(1000, Evidence::predicted, h200()).trial.key;
  const Family& simt = family_named("simt");
  const Config defaults = simt.default_config(key.problem);
  key.config = defaults.text();
  EXPECT_EQ(brief_config(key), "default");
  key.config = simt.complete(Config::parse("GROUP=1"), key.problem, catalog_gpu("h200")).text();
  EXPECT_EQ(brief_config(key), "GROUP=1");
  EXPECT_EQ(simt.complete(Config::parse(brief_config(key)), key.problem, catalog_gpu("h200")).text(), key.config);
}

TEST(Winners, ConfigurationThatIsNotKnownAnyMoreIsWhole) {
  TrialKey key = winner(1000, Evidence::predicted, h200()).trial.key;
  for (const auto* text : {"BM=128 NO_SUCH=3", "BM=128", "BM=77", ""}) {
    key.config = text;
    EXPECT_EQ(brief_config(key), text);
  }
  key.family = "forgotten";
  key.config = "TILE=8";
  EXPECT_EQ(brief_config(key), "TILE=8");
}

TEST(Winners, WideTablesHaveWholeConfigurations) {
  Winner one = winner(1000, Evidence::predicted, h200());
  one.trial.key.config = family_named("simt").default_config(one.trial.key.problem).text();
  const auto shown = [&](const Output& output) { return winners_table({one}, {State{}}, output).text(output.format); };
  EXPECT_THAT(shown({}), Not(HasSubstr("BM=")));
  EXPECT_THAT(shown({.wide = true}), HasSubstr(one.trial.key.config));
  EXPECT_THAT(shown({.format = Format::md}), HasSubstr(one.trial.key.config));
}

TEST(Winners, StaleAndWrongRowsSayWhy) {
  const State stale{Validity::stale, "driver 570 then, 580 now"},
      wrong{Validity::wrong, "its kernel has changed since"};
  Winner one = winner(1000, Evidence::measured, h200());
  EXPECT_THAT(table_of(one, Format::table, stale).text(Format::table), HasSubstr("stale: driver 570 then, 580 now"));
  EXPECT_THAT(table_of(one, Format::table, wrong).text(Format::table),
              HasSubstr("wrong: its kernel has changed since"));
  EXPECT_THAT(table_of(one, Format::table).text(Format::table), Not(HasSubstr("current")));
  const auto row = nlohmann::json::parse(table_of(one, Format::json, stale).text(Format::json)).at(0);
  EXPECT_EQ(row.at("state"), "stale");
  EXPECT_EQ(row.at("reason"), "driver 570 then, 580 now");
}

TEST(Winners, InvariantOnesAreToldApart) {
  Winner one = winner(1000, Evidence::measured, h200());
  for (const bool invariant : {false, true}) {
    one.trial.key.problem.invariant = invariant;
    EXPECT_EQ(table_of(one, Format::table).text(Format::table).find("invariant") != std::string::npos, invariant);
    const auto row = nlohmann::json::parse(table_of(one, Format::json).text(Format::json)).at(0);
    EXPECT_EQ(row.at("invariant"), invariant ? 1 : 0);
  }
}

TEST(Winners, ConditionsAreShown) {
  Winner one = winner(1000, Evidence::measured, h200());
  one.trial.timing.sm_clock_mhz = 1500;
  one.trial.timing.throttle = kPowerCap | kThermalSlowdown;
  one.trial.timing.disturbed = 3;
  one.trial.deterministic = false;
  const auto row = nlohmann::json::parse(table_of(one, Format::json).text(Format::json)).at(0);
  EXPECT_EQ(row.at("sm_clock_mhz"), 1500);
  EXPECT_EQ(row.at("throttle"), "power cap; thermal slowdown");
  EXPECT_TRUE(row.at("co_tenants").is_null());
  EXPECT_EQ(row.at("disturbed"), 3);
  EXPECT_EQ(row.at("deterministic"), 0);
  const auto text = table_of(one, Format::table).text(Format::table);
  EXPECT_THAT(text, HasSubstr("disturbed while it was timed; not deterministic"));
}

TEST(Winners, ProgramForAnotherArchitectureIsMarked) {
  Winner one = winner(1000, Evidence::predicted, key_of(catalog_gpu("gt740m")));
  one.binary.target = "sm_75";
  EXPECT_THAT(table_of(one, Format::table).text(Format::table), Not(HasSubstr("compiled for")));
  one.binary.exact_target = false;
  for (const auto format : {Format::table, Format::md}) {
    EXPECT_THAT(table_of(one, format).text(format), HasSubstr("compiled for sm_75, not this GPU's architecture"));
  }
  const auto row = nlohmann::json::parse(table_of(one, Format::json).text(Format::json)).at(0);
  EXPECT_EQ(row.at("target"), "sm_75");
  EXPECT_EQ(row.at("exact_target"), 0);
}

}  // namespace
}  // namespace mmtune
