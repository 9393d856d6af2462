// A GPU that is not alone, and machines with several.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "db/store.h"
#include "runtime/gpu/nvml.h"
#include "templates/family/families.h"
#include "tests/runtime/support.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/lanes/lane.h"
#include "tuner/tune/preparation.h"
#include "tuner/workers/installed_gpus.h"
#include "tuner/workers/worker_process.h"

namespace mmtune {
namespace {

class GpuCompany : public test::GpuTest {
 protected:
  static constexpr std::chrono::minutes kLimit{5};

  Program finalist() const {
    const Preparation preparation(TemplateFiles::embedded(), device_, target_, Evidence::measured, nvrtc_->version());
    const Family& tiled = family_named("tiled");
    Program program = preparation.program(problem_, {&tiled, tiled.default_config(problem_)});
    program.binary = preparation.binary(nvrtc_->compile(program.source, preparation.files(), target_));
    return program;
  }

  Problem problem_ = packed_problem(Precision::fp32, Layout::nn, 512, 512, 512);
};

TEST_F(GpuCompany, ARaceBesideAnotherProcessEndsAndIsFlagged) {
  const std::vector<Program> finalists{finalist(), finalist()};
  WorkerProcess neighbour(kThisProgram, "neighbour");
  neighbour.ask(OpenRequest{device_, 0, target_}, kLimit);
  neighbour.ask(BeginRequest{problem_, kScreenSamples}, kLimit);
  if (Nvml(device_.uuid).processes().value_or(0) < 2) GTEST_SKIP() << "NVML does not show other processes";

  const auto lane = make_gpu_lane({device_, 0}, *nvrtc_, target_);
  lane->begin(problem_, kScreenSamples);
  neighbour.send(RaceRequest{sent(finalists)}, kLimit);
  const auto ours = lane->race(finalists);
  const auto theirs = neighbour.receive<RaceRequest>(kLimit);
  for (const RaceResult& result : {ours, theirs}) {
    ASSERT_EQ(result.verdicts.size(), 2U);
    for (const Verdict& verdict : result.verdicts) {
      EXPECT_GE(verdict.timing.conditions.co_tenants, 1);
      EXPECT_GT(verdict.timing.disturbed, 0);
    }
  }
}

class GpuPair : public Cli {
 protected:
  void SetUp() override {
    if (const auto why = test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    if (gpu_count() < 2) GTEST_SKIP() << "this machine has one GPU";
    if (key_of(query_device(0)) != key_of(query_device(1))) GTEST_SKIP() << "the GPUs are of two models";
  }
};

TEST_F(GpuPair, AllAreAsManyAsTheDriverHas) {
  EXPECT_EQ(choose_devices("all").size(), static_cast<std::size_t>(gpu_count()));
}

TEST_F(GpuPair, BothShareTheSizes) {
  const auto result = mmtune("tune --device 0,1 --sizes 256,512 --family tiled --effort quick --format json");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).size(), 2U) << "sizes that are decided";
  std::set<std::string> used;
  for (const Trial& trial : Store::open(path("default.db"), OpenMode::read_only).trials()) {
    used.insert(trial.environment.device_uuid);
  }
  EXPECT_EQ(used, (std::set{query_device(0).uuid, query_device(1).uuid}));
}

}  // namespace
}  // namespace mmtune
