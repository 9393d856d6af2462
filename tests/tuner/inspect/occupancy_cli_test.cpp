// mmtune occupancy and mmtune devices from outside; everything here runs without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kColumns = "device,threads,registers,smem_bytes,blocks_per_sm,limit,active_warps,occupancy,";

TEST_F(Cli, OccupancyOfABlockOnTwoDevices) {
  const auto result =
      mmtune("occupancy --threads 256 --registers 11 --smem 3072 --device model:gt740m,model:h200 --format csv");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith(kColumns), HasSubstr("\nGeForce GT 740M,256,11,3072,8,threads,64,1.0000,"),
                                HasSubstr("\nNVIDIA H200,256,11,3072,8,threads,64,1.0000,")));
}

TEST_F(Cli, OccupancySaysWhatWouldRaiseIt) {
  const auto result = mmtune("occupancy --threads 256 --registers 88 --smem 1024 --device model:h200 --format json");
  const auto row = nlohmann::json::parse(result.out).at(0);
  EXPECT_EQ(row.at("limit"), "registers");
  EXPECT_EQ(row.at("blocks_per_sm"), 2);
  EXPECT_EQ(row.at("blocks_by_threads"), 8);
  EXPECT_EQ(row.at("occupancy"), 0.25);
  EXPECT_EQ(row.at("next_step"), "8 registers fewer: 3 blocks, 24 warps");
}

TEST_F(Cli, OccupancyOfAKernelHasItsWaves) {
  const auto result =
      mmtune("occupancy --family tiled --config TILE=32 --sizes 1000 --device model:k20c --format json");
  EXPECT_EQ(result.code, 0) << result.err;
  const auto row = nlohmann::json::parse(result.out).at(0);
  EXPECT_EQ(row.at("threads"), 1024);
  EXPECT_EQ(row.at("smem_bytes"), 8192);
  EXPECT_EQ(row.at("grid_blocks"), 1024);
  const double places = 13.0 * row.at("blocks_per_sm").get<int>();
  EXPECT_NEAR(row.at("waves").get<double>(), 1024 / places, 1e-4);
}

TEST_F(Cli, OccupancyDrawsTheCalculatorsCurves) {
  const auto svg = path("curves.svg");
  const auto result = mmtune("occupancy --threads 256 --registers 32 --device model:a100 --curves --svg '" + svg + "'");
  EXPECT_EQ(result.code, 0) << result.err;
  for (const auto* text : {"threads per block", "registers per thread", "bytes of shared memory per block"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
    EXPECT_THAT(content(svg), HasSubstr(text));
  }
}

TEST_F(Cli, OccupancyRefusesWhatItCannotAnswer) {
  const std::pair<const char*, const char*> calls[] = {
      {"occupancy --device model:h200", "--threads"},
      {"occupancy --threads 32 --family tiled --device model:h200", "one of --threads"},
      {"occupancy --best --device model:h200", "--sizes"},
      {"occupancy --registers 3 --device model:h200", "--registers"},
      {"occupancy --threads 0 --device model:h200", "--threads"},
      {"occupancy --threads 32 --registers 100000 --device model:h200", "--registers"},
      {"occupancy --threads 32 --device model:h200 --curves --format json", "--svg"},
      {"occupancy --family nothing --device model:h200", "nothing"},
      {"occupancy --family tiled --config TILE=7 --device model:h200", "7"}};
  for (const auto& [arguments, token] : calls) {
    const auto result = mmtune(arguments);
    EXPECT_NE(result.code, 0) << arguments;
    EXPECT_THAT(result.err, AllOf(StartsWith("mmtune: "), HasSubstr(token))) << arguments;
  }
}

TEST_F(Cli, DevicesSaysEverythingAboutOne) {
  const auto result = mmtune("devices --device model:gt740m --format csv");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("device,property,value,unit\n"), HasSubstr("GeForce GT 740M,multiprocessors,2,\n"),
                    HasSubstr("shared memory per block,49152,bytes"), HasSubstr("threads per multiprocessor,2048,"),
                    HasSubstr("warp size,32,"), HasSubstr("fp32 peak,0.75,TFLOP/s")));
  EXPECT_EQ(mmtune("devices --device model:nothing").code, 2);
}

}  // namespace
}  // namespace mmtune
